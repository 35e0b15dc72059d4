"""How every page begins: the one knowledge base of the server, menu, banner, and errors as sentences."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import streamlit as st

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.errors import KbError
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings
from kbapp.surfaces.ui import state
from kbapp.surfaces.ui.quoted import code, plain
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.texts import Language
from kbapp.surfaces.ui.tour import render_start_of_tour, render_tour

logger = logging.getLogger("kbapp.app")

CONFIG_VARIABLE = "_KBAPP_CONFIG"  # set by `kbapp app`; the settings themselves travel as KBAPP_… variables
STYLE_SHEET = Path(__file__).with_name("style.css")
# In a frame a page of others could lay its own buttons over ours, and Streamlit sends no header against that.
NO_FRAME = "<script>if (window.top !== window.self) document.documentElement.replaceChildren()</script>"
ICON = Path(__file__).with_name("icon.svg")  # for a material icon the browser would ask Google


class Page(StrEnum):
    """The pages; the value is the script, beside ``app.py``."""

    HOME = "app.py"
    KNOWLEDGE_BASE = "pages/knowledge_base.py"
    SIMULATOR = "pages/simulator.py"
    TELEMETRY = "pages/telemetry.py"
    EVALUATION = "pages/evaluation.py"

    @property
    def label(self) -> str:
        """Its name in the menu."""
        return t(f"menu.{self.name.lower()}")

    @property
    def icon(self) -> str:
        """Its sign in the menu."""
        return _ICONS[self]


_ICONS = {
    Page.HOME: ":material/home:",
    Page.KNOWLEDGE_BASE: ":material/library_books:",
    Page.SIMULATOR: ":material/forum:",
    Page.TELEMETRY: ":material/monitoring:",
    Page.EVALUATION: ":material/fact_check:",
}


@st.cache_resource(show_spinner=False)
def open_from_arguments() -> KnowledgeBase:
    """Open the knowledge base that ``kbapp app`` was told of, once per server.

    Raises:
        UserError: a setting is wrong, or the folder does not exist.
    """
    config = os.environ.get(CONFIG_VARIABLE)
    return open_knowledge_base(Settings.load(Path(config) if config else None))


@contextmanager
def open_page(page: Page) -> Iterator[KnowledgeBase]:
    """The knowledge base, for the body of a page; whatever is raised there becomes a sentence on it."""
    st.set_page_config(page_title=f"{page.label} · kbapp", page_icon=ICON, layout="wide")
    st.html(STYLE_SHEET)
    with errors_as_sentences():
        _render_menu()
        kb = open_from_arguments()
        state.keep_in_url()
        _render_banner(kb)
        render_tour(kb, page)
        try:
            yield kb
        finally:
            kb.follow()  # the first page is on its way before comparing the files takes a core


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """What a person can mend is said as it is; of anything else its kind, and the log has the rest. Ends the run."""
    try:
        yield
        return
    except KbError as error:
        st.error(plain(str(error)), icon=":material/error:")
    except Exception as error:
        logger.exception("a page failed")
        st.error(t("error.unexpected", kind=type(error).__name__), icon=":material/error:")
    st.stop()


def _render_menu() -> None:
    with st.sidebar:
        st.markdown(f"## :primary[:material/travel_explore:] {t('app.name')}")
        st.caption(t("app.tagline"))
        for each in Page:
            st.page_link(each.value, label=each.label, icon=each.icon)
        st.divider()
        _render_language()
        st.caption(f"{t('sidebar.session')} {code(state.session_id())}")
        render_start_of_tour()
        st.html(NO_FRAME, unsafe_allow_javascript=True)  # ours alone; at the end, where it takes no room


def _render_language() -> None:
    current = state.language()
    # A key per language: the widget of the other language is another one, and starts with what is in force.
    chosen = st.segmented_control(
        t("sidebar.language"), list(Language), default=current, key=f"sidebar_language_{current.name}"
    )
    if chosen and chosen is not current:
        state.set_language(chosen)
        st.rerun()


def _render_banner(kb: KnowledgeBase) -> None:
    """Says that vectors are still being built, and goes away when they are; nothing while files are only compared."""
    status = kb.following
    if status.indexing or not status.scans:
        _live_banner(kb)
    if status.problem:
        st.warning(plain(status.problem), icon=":material/warning:")


@st.fragment(run_every=1.0)
def _live_banner(kb: KnowledgeBase) -> None:
    status = kb.following
    if status.indexing:
        done, total, stage = status.indexing.done, status.indexing.total, status.indexing.stage
        st.progress(done / max(total, 1), text=t(f"indexing.{stage}", done=done, total=total))
    elif status.scans:
        st.rerun()
