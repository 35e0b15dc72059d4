"""What a browser tab keeps between reruns, apart from its widgets: language and session, both also in the URL."""

from __future__ import annotations

import secrets

import streamlit as st

from kbapp.domain.query import clean_session_id
from kbapp.surfaces.ui.texts import Language
from kbapp.surfaces.ui.texts import text as text_of

LANGUAGE = "ui_language"
SESSION = "ui_session"
_SESSION_PARAMETER = "session"
_LANGUAGE_PARAMETER = "lang"
_SHORT_NAMES = {Language.ENGLISH: "en", Language.CHINESE: "zh"}


def language() -> Language:
    """The language of the screen: as chosen, as the URL says, or as the browser prefers."""
    if LANGUAGE not in st.session_state:
        wanted = st.query_params.get(_LANGUAGE_PARAMETER) or st.context.locale or ""
        st.session_state[LANGUAGE] = Language.CHINESE if wanted.lower().startswith("zh") else Language.ENGLISH
    chosen: Language = st.session_state[LANGUAGE]
    return chosen


def set_language(chosen: Language) -> None:
    """Choose the language of the screen."""
    st.session_state[LANGUAGE] = chosen


def t(key: str, **values: object) -> str:
    """A text of the catalogue in the language of the screen."""
    return text_of(key, language(), **values)


def session_id() -> str:
    """The session of this tab: the one that the URL names, after a reload or by a link, else a new one."""
    named = clean_session_id(st.query_params.get(_SESSION_PARAMETER))
    if named:
        st.session_state[SESSION] = named
    elif SESSION not in st.session_state:
        st.session_state[SESSION] = f"app-{secrets.token_hex(3)}"
    session: str = st.session_state[SESSION]
    return session


def begin_session() -> str:
    """Go on in a new, empty session."""
    st.session_state.pop(SESSION, None)
    st.query_params.pop(_SESSION_PARAMETER, None)
    return session_id()


def keep_in_url() -> None:
    """A reload is a new Streamlit session, and a page change drops the URL's parameters: write them again."""
    st.query_params[_SESSION_PARAMETER] = session_id()
    st.query_params[_LANGUAGE_PARAMETER] = _SHORT_NAMES[language()]
