"""Home: what this is, the state at a glance, a first lookup."""

from __future__ import annotations

import streamlit as st

from kbapp.surfaces.ui.context import Page, open_page
from kbapp.surfaces.ui.home_lookup import render_lookup
from kbapp.surfaces.ui.home_state import render_first_steps, render_state
from kbapp.surfaces.ui.state import t

with open_page(Page.HOME) as kb:
    st.title(Page.HOME.label, anchor=False)
    st.markdown(t("home.hero"))
    render_lookup(kb)
    render_state(kb)
    render_first_steps(kb)
