"""Knowledge base: upload, look through, delete."""

from __future__ import annotations

import streamlit as st

from kbapp.surfaces.ui import kb_work
from kbapp.surfaces.ui.context import Page, open_page
from kbapp.surfaces.ui.kb_detail import render_detail, render_notice
from kbapp.surfaces.ui.kb_overview import render_empty, render_first_scan, render_heading
from kbapp.surfaces.ui.kb_parts import render_style
from kbapp.surfaces.ui.kb_rows import domains_of, rows_of
from kbapp.surfaces.ui.kb_table import render_table
from kbapp.surfaces.ui.kb_upload import render_upload

with open_page(Page.KNOWLEDGE_BASE) as kb:
    render_style()
    st.title(Page.KNOWLEDGE_BASE.label)
    rows = rows_of(kb.documents(), kb.entries())
    render_heading(kb, rows)
    render_notice()
    render_upload(kb, domains_of(rows))
    kb_work.render_work(kb)
    if rows:
        render_table(rows, kb.base_folder)
        render_detail(kb, rows)
    elif not render_first_scan(kb):
        render_empty(kb)
