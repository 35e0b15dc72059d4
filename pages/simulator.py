"""Executor simulator: a chat in which each message is one call of ``lookup_knowledge``."""

from __future__ import annotations

import streamlit as st

from kbapp.surfaces.ui.context import Page, open_page
from kbapp.surfaces.ui.simulator_chat import render_chat, render_input, session_calls
from kbapp.surfaces.ui.simulator_memory import render_memory
from kbapp.surfaces.ui.state import t

with open_page(Page.SIMULATOR) as kb:
    st.title(Page.SIMULATOR.label)
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
