"""Evaluation: labelled queries and what became of them, what other thresholds would change, and what people marked."""

from __future__ import annotations

import streamlit as st

from kbapp.service.what_if import judge
from kbapp.surfaces.ui.context import Page, open_page
from kbapp.surfaces.ui.evaluation_figures import STYLE_SHEET, render_comparison, render_figures, render_kinds
from kbapp.surfaces.ui.evaluation_labels import render_choice
from kbapp.surfaces.ui.evaluation_levels import render_levels
from kbapp.surfaces.ui.evaluation_marks import render_marks
from kbapp.surfaces.ui.evaluation_run import RESULT, Evaluated
from kbapp.surfaces.ui.state import t

with open_page(Page.EVALUATION) as kb:
    st.html(STYLE_SHEET)
    st.title(Page.EVALUATION.label, anchor=False)
    st.caption(t("evaluation.intro"))
    render_choice(kb)
    result: Evaluated | None = st.session_state.get(RESULT)
    if result:
        judged = judge(result.cases, kb.thresholds)
        render_figures(result, judged, kb.thresholds, kb.level_cuts)
        with st.container(border=True):
            render_kinds(result.report, judged)
        with st.container(border=True):
            render_comparison(result.report)
        render_levels(kb, result)
    render_marks(kb)
