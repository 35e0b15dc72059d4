"""The calls that people marked: how many by verdict and level, and each with its card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from kbapp.domain.telemetry import MarkedCall, Verdict
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.card import render_card
from kbapp.surfaces.ui.context import Page, errors_as_sentences
from kbapp.surfaces.ui.evaluation_tables import render_table
from kbapp.surfaces.ui.levels import LOOKS, LevelLook, look_of
from kbapp.surfaces.ui.state import language, t
from kbapp.surfaces.ui.telemetry_filter import local_text
from kbapp.surfaces.ui.texts import Language

SHOWN_MARKS = 500
TABLE = "evaluation_marks"
SELECTED = "evaluation_selected_mark"
_IDS = "evaluation_mark_ids"
_SIGNS = {Verdict.HELPFUL: "👍", Verdict.NOT_HELPFUL: "👎", Verdict.WRONG_LEVEL: "⚖"}
_ROW_HEIGHT = 35
_VISIBLE_ROWS = 8


@st.fragment
def render_marks(kb: KnowledgeBase) -> None:
    """The marks that count, the newest first; or how to mark a call."""
    with errors_as_sentences(), st.container(border=True, key="evaluation_marked"):
        st.header(t("evaluation.marks"), anchor=False)
        marked = kb.marked_calls(limit=SHOWN_MARKS)
        if not marked:
            st.markdown(f":material/thumbs_up_down: {t('evaluation.no_marks')}")
            st.page_link(Page.SIMULATOR.value, label=t("telemetry.to_simulator"), icon=Page.SIMULATOR.icon)
            return
        st.caption(t("evaluation.marks_note"))
        _render_counts(marked)
        _render_rows(marked)
        if len(marked) == SHOWN_MARKS:
            st.caption(t("evaluation.newest_marks", count=SHOWN_MARKS))
        chosen = next((each.call for each in marked if each.call.id == st.session_state.get(SELECTED)), None)
        if chosen:
            render_card(kb, chosen)
        else:
            st.caption(f":material/ads_click: {t('evaluation.select')}")


def _render_counts(marked: Sequence[MarkedCall]) -> None:
    """By verdict and level; levels that nobody marked are left out."""
    counts = Counter((each.mark.verdict, look_of(each.call)) for each in marked)
    looks = _looks(marked)
    heads = ["", *(look.name for look in looks), t("evaluation.total")]
    rows = [
        (
            f"{_SIGNS[verdict]} {t(f'verdict.{verdict}')}",
            *(str(counts[verdict, look]) for look in looks),
            str(sum(each.mark.verdict is verdict for each in marked)),
        )
        for verdict in Verdict
    ]
    render_table(t("evaluation.marks_counts"), heads, rows, style="kb-confusion")


def _looks(marked: Sequence[MarkedCall]) -> list[LevelLook]:
    present = {look_of(each.call) for each in marked}
    known = [look for look in LOOKS.values() if look in present]
    return [*known, *sorted(present - set(known), key=lambda look: look.key)]


def _render_rows(marked: Sequence[MarkedCall]) -> None:
    st.session_state[_IDS] = ids = [each.call.id for each in marked]
    selected = st.session_state.get(SELECTED)
    at = [ids.index(selected)] if selected in ids else []
    st.session_state[TABLE] = {"selection": {"rows": at, "columns": [], "cells": []}}
    looks = {look.name: look.colour for look in _looks(marked)}
    widest = 195 if language() is Language.CHINESE else 145  # HIGHLY_RELEVANT 高度相关
    config = st.column_config
    st.dataframe(
        {
            "verdict": [f"{_SIGNS[each.mark.verdict]} {t(f'verdict.{each.mark.verdict}')}" for each in marked],
            "level": [[look_of(each.call).name] for each in marked],
            "query": [each.call.query for each in marked],
            "time": [local_text(each.mark.created_at)[:16] for each in marked],
            "note": [each.mark.note for each in marked],
        },
        key=TABLE,
        on_select=_follow_click,
        selection_mode="single-row",
        hide_index=True,
        height=_ROW_HEIGHT * (min(len(marked), _VISIBLE_ROWS) + 1) + 3,
        row_height=_ROW_HEIGHT,
        column_config={
            "verdict": config.TextColumn(t("evaluation.verdict"), width=120),
            "level": config.MultiselectColumn(
                t("telemetry.column_answer"), options=list(looks), color=list(looks.values()), width=widest
            ),
            "query": config.TextColumn(t("telemetry.query"), width="medium"),
            "time": config.TextColumn(t("evaluation.marked_at"), width=125),
            "note": config.TextColumn(t("evaluation.note"), width="medium"),
        },
        alt=t("evaluation.marks"),
    )


def _follow_click() -> None:
    chosen = st.session_state[TABLE]["selection"]["rows"]
    st.session_state[SELECTED] = st.session_state[_IDS][chosen[0]] if chosen else None
