"""Executor simulator: a person, a script or a language model calls ``lookup_knowledge``."""

from __future__ import annotations

import streamlit as st

from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import Page, open_page
from kbapp.surfaces.ui.llm_page import render_llm
from kbapp.surfaces.ui.scripted_mode import Mode, render_mode
from kbapp.surfaces.ui.scripted_page import render_scripted
from kbapp.surfaces.ui.simulator_chat import render_chat, render_input, session_calls
from kbapp.surfaces.ui.simulator_memory import render_memory
from kbapp.surfaces.ui.state import t


def render_manual(kb: KnowledgeBase) -> None:
    """A chat in which each message is one call."""
    st.caption(t("simulator.intro"))
    render_input(kb)
    calls = session_calls(kb)
    chat, memory = st.columns([2.2, 1], gap="medium")
    with memory:
        render_memory(kb, calls)
    with chat, st.container(height=600, border=False, autoscroll=True, key="simulator_chat"):
        if not calls:
            st.info(t("simulator.empty"), icon=":material/chat:")
        render_chat(kb, calls)


RENDER = {Mode.MANUAL: render_manual, Mode.SCRIPTED: render_scripted, Mode.LLM: render_llm}

with open_page(Page.SIMULATOR) as kb:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(Page.SIMULATOR.label, width="content")
        mode = render_mode()
    RENDER[mode](kb)
