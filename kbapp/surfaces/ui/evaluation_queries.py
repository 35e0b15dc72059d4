"""The queries behind the figures, the worst first; each opens the card of its lookup beside what was expected."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from kbapp.domain.labelled_queries import Kind
from kbapp.service.evaluation_files import outcome_lines
from kbapp.service.evaluation_report import LEVELS
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.what_if import Answered, Cell, Judged, worst_first
from kbapp.surfaces.ui.card import render_card
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import language, t
from kbapp.surfaces.ui.texts import Language

CELL = "evaluation_cell"
KINDS = "evaluation_kinds"
TABLE = "evaluation_rows"
SELECTED = "evaluation_selected"
_SHOWN = "evaluation_shown_ids"
_FAULTS = "faults"
_EVERY = "every"
_ROW_HEIGHT = 35
_VISIBLE_ROWS = 10


def render_queries(kb: KnowledgeBase, before: Sequence[Judged], after: Sequence[Judged]) -> None:
    """The list, its filters, the download, and the selected one whole."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.header(t("evaluation.worst"), anchor=False, width="stretch")
        st.download_button(
            t("evaluation.download"),
            lambda: "".join(outcome_lines(after)).encode("utf-8", "replace"),
            file_name="evaluation-outcomes.jsonl",
            mime="application/jsonl",
            icon=":material/download:",
            key="evaluation_download",
            on_click="ignore",
            help=t("evaluation.download_help"),
        )
    shown = _filtered(after)
    st.caption(t("evaluation.worst_note", shown=len(shown), total=len(after)))
    if not shown:
        st.info(t("evaluation.none_match"), icon=":material/filter_alt_off:")
        return
    former = {each.outcome.label.id: each for each in before}
    _render_rows(shown, former)
    _render_selected(kb, shown)


def _filtered(judged: Sequence[Judged]) -> Sequence[Judged]:
    which, of_kind = st.columns([1, 1])
    choices: list[str | Cell] = [
        _FAULTS,
        *((answered, level) for answered in Answered for level in LEVELS if level or answered is not Answered.RIGHT),
        _EVERY,
    ]
    chosen = which.selectbox(t("evaluation.which"), choices, format_func=_choice_name, key=CELL)
    present = {each.outcome.label.kind for each in judged}
    kinds = of_kind.multiselect(
        t("evaluation.kind"),
        [kind for kind in Kind if kind in present],
        format_func=lambda kind: t(f"evaluation.kind_{kind}"),
        key=KINDS,
        placeholder=t("evaluation.all_kinds"),
    )
    wanted = worst_first(judged) if chosen == _FAULTS else judged
    return [
        each
        for each in wanted
        if (chosen in (_FAULTS, _EVERY) or (each.answered, each.level) == chosen)
        and (not kinds or each.outcome.label.kind in kinds)
    ]


def _choice_name(choice: str | Cell) -> str:
    if isinstance(choice, str):
        return t(f"evaluation.which_{choice}")
    answered, level = choice
    name = LOOKS[level].name if level else t("evaluation.nothing")
    return f"{t(f'evaluation.answered_{answered}')} · {name}"


def _render_rows(shown: Sequence[Judged], former: dict[str, Judged]) -> None:
    st.session_state[_SHOWN] = ids = [each.outcome.label.id for each in shown]
    selected = st.session_state.get(SELECTED)
    at = [ids.index(selected)] if selected in ids else []
    st.session_state[TABLE] = {"selection": {"rows": at, "columns": [], "cells": []}}
    columns: dict[str, list[object]] = {
        "fault": [t(f"evaluation.fault_{each.fault}") if each.fault else "–" for each in shown],
        "query": [each.outcome.label.query for each in shown],
        "level": [[_level_name(each)] for each in shown],
        "given": [each.document or "–" for each in shown],
        "expected": [", ".join(each.outcome.label.relevant) or "–" for each in shown],
        "kind": [t(f"evaluation.kind_{each.outcome.label.kind}") for each in shown],
        "similarity": [f"{each.similarity:.3f}" if each.similarity is not None else "–" for each in shown],
        "before": [_level_name(former[each.outcome.label.id]) for each in shown],
        "id": list[object](ids),
    }
    if all(former[each.outcome.label.id].level is each.level for each in shown):
        del columns["before"]
    st.dataframe(
        columns,
        key=TABLE,
        on_select=_follow_click,
        selection_mode="single-row",
        hide_index=True,
        height=_ROW_HEIGHT * (min(len(shown), _VISIBLE_ROWS) + 1) + 3,
        row_height=_ROW_HEIGHT,
        column_config=_config(),
        alt=t("evaluation.worst"),
    )


def _level_name(judged: Judged) -> str:
    return LOOKS[judged.level].name


def _follow_click() -> None:
    chosen = st.session_state[TABLE]["selection"]["rows"]
    st.session_state[SELECTED] = st.session_state[_SHOWN][chosen[0]] if chosen else None


def _config() -> dict[str, ColumnConfig]:
    config = st.column_config
    looks = {look.name: look.colour for look in LOOKS.values()}
    widest = 195 if language() is Language.CHINESE else 145  # HIGHLY_RELEVANT 高度相关
    return {
        "fault": config.TextColumn(t("evaluation.fault"), width=205),
        "query": config.TextColumn(t("telemetry.query"), width=365 - widest),
        "level": config.MultiselectColumn(
            t("telemetry.column_answer"), options=list(looks), color=list(looks.values()), width=widest
        ),
        "given": config.TextColumn(t("evaluation.given"), width=150),
        "expected": config.TextColumn(t("evaluation.expected"), width=150),
        "kind": config.TextColumn(t("evaluation.kind"), width=85),
        "similarity": config.TextColumn(t("telemetry.column_similarity"), width=80),
        "before": config.TextColumn(t("evaluation.level_before"), width=widest),
        "id": config.TextColumn("id", width=70),
    }


def _render_selected(kb: KnowledgeBase, shown: Sequence[Judged]) -> None:
    judged = next((each for each in shown if each.outcome.label.id == st.session_state.get(SELECTED)), None)
    if judged is None:
        st.caption(f":material/ads_click: {t('evaluation.select')}")
        return
    with st.container(key="evaluation_detail"):
        card, beside = st.columns([1.7, 1])
    with card:
        render_card(kb, judged.outcome.invocation, is_recorded=False)
    with beside, st.container(border=True, gap="small"):
        _render_label(judged)


def _render_label(judged: Judged) -> None:
    label = judged.outcome.label
    st.markdown(f"**{t('evaluation.expected')}**")
    if label.relevant:
        st.markdown("\n".join(f"- :material/description: {plain(path)}" for path in label.relevant))
    else:
        st.markdown(t("evaluation.nothing_expected"))
    parts = [("evaluation.heading", label.heading), ("evaluation.note", label.note)]
    parts.append(("evaluation.evidence", " … ".join(label.evidence)))
    for key, value in parts:
        if value:
            st.markdown(f"**{t(key)}** · {plain(value)}")
    if judged.fault:
        st.markdown(f":material/error: {t(f'evaluation.fault_{judged.fault}')}")
    if judged.level is not judged.outcome.level:
        st.caption(t("evaluation.level_of_run", level=LOOKS[judged.outcome.level].name))
    line = t("evaluation.label_line", id=plain(label.id), line=label.line, kind=t(f"evaluation.kind_{label.kind}"))
    st.caption(line)
