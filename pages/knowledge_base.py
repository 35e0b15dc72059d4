"""Knowledge base: upload, look through, delete."""

from __future__ import annotations

import streamlit as st

from kbapp.surfaces.ui.context import Page, open_page

with open_page(Page.KNOWLEDGE_BASE) as kb:
    st.title(Page.KNOWLEDGE_BASE.label)
    st.write(len(kb.documents()))
