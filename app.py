"""Home: what this is, the state at a glance, a first lookup."""

from __future__ import annotations

import streamlit as st

from kbapp.surfaces.ui.context import Page, open_page

with open_page(Page.HOME) as kb:
    st.title(Page.HOME.label)
    st.write(len(kb.documents()))
