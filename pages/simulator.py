"""Executor simulator: each message is one call of lookup_knowledge."""

from __future__ import annotations

import streamlit as st

from kbapp.surfaces.ui.context import Page, open_page

with open_page(Page.SIMULATOR) as kb:
    st.title(Page.SIMULATOR.label)
    st.write(len(kb.documents()))
