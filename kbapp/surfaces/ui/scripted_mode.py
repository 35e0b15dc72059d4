"""Who the executor is: a person, a script, a language model; kept for the tab, and in the URL for links and reloads."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import streamlit as st

from kbapp.surfaces.ui.state import t

STYLE_SHEET = Path(__file__).with_name("scripted.css")
MODE = "simulator_mode"
PARAMETER = "mode"
_WRITTEN = "simulator_mode_written"  # what the URL was given last: another value there comes from a link


class Mode(StrEnum):
    """The modes of the simulator."""

    MANUAL = "manual"
    SCRIPTED = "scripted"
    LLM = "llm"


_ICONS = {Mode.MANUAL: ":material/chat:", Mode.SCRIPTED: ":material/checklist:", Mode.LLM: ":material/smart_toy:"}


def render_mode() -> Mode:
    """The switch between the modes, and the one that is chosen."""
    st.html(STYLE_SHEET)
    named = st.query_params.get(PARAMETER)
    if named in list(Mode) and named != st.session_state.get(_WRITTEN):
        st.session_state[MODE] = Mode(named)
    st.session_state.setdefault(MODE, Mode.MANUAL)
    chosen = st.segmented_control(
        t("mode.label"),
        list(Mode),
        required=True,
        format_func=lambda mode: f"{_ICONS[mode]} {t(f'mode.{mode}')}",
        label_visibility="collapsed",
        key=MODE,
        persist_state="session",
    )
    mode = Mode(chosen or Mode.MANUAL)
    st.query_params[PARAMETER] = st.session_state[_WRITTEN] = mode.value
    return mode
