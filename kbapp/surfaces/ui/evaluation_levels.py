"""Levels against answers, and what they would be under other thresholds: recomputed from the rows, no lookup."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.evaluation_report import LEVELS
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.what_if import Answered, Cell, confusion, judge
from kbapp.surfaces.ui.context import errors_as_sentences
from kbapp.surfaces.ui.evaluation_apply import render_apply
from kbapp.surfaces.ui.evaluation_figures import figures_of, percent
from kbapp.surfaces.ui.evaluation_queries import render_queries
from kbapp.surfaces.ui.evaluation_run import Evaluated
from kbapp.surfaces.ui.evaluation_sliders import Comparison, render_sliders
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.state import t

_GOOD: frozenset[Cell] = frozenset(
    {(Answered.RIGHT, level) for level in LEVELS if level} | {(Answered.OFF_TOPIC, None)}
)
_BAD: frozenset[Cell] = frozenset(
    (answered, level)
    for answered in (Answered.WRONG, Answered.OFF_TOPIC)
    for level in (RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT)
)
IMPOSSIBLE: Cell = (Answered.RIGHT, None)


@st.fragment
def render_levels(kb: KnowledgeBase, result: Evaluated) -> None:
    """The table of levels, the sliders that change it, and the queries behind it; a fragment, for the sliders."""
    with errors_as_sentences():
        in_force = kb.thresholds
        with st.container(border=True, key="evaluation_levels"):
            st.header(t("evaluation.levels"), anchor=False)
            st.caption(t("evaluation.levels_note"))
            picture, table = st.columns(2, gap="medium")
            with picture:
                chosen = render_sliders(in_force)
                compared = Comparison(in_force, chosen, judge(result.cases, in_force), judge(result.cases, chosen))
                _render_picture(compared)
            with table:
                _render_confusion(compared)
                _render_changes(compared)
                render_apply(kb, compared)
        with st.container(border=True, key="evaluation_queries"):
            render_queries(kb, compared.before, compared.after)


def _render_picture(compared: Comparison) -> None:
    from kbapp.surfaces.ui.evaluation_charts import similarity_chart  # altair takes half a second

    graded = [each for each in compared.after if each.similarity is not None]
    st.altair_chart(
        similarity_chart(graded, compared.in_force, compared.chosen),
        key="evaluation_chart_similarity",
        alt=t("evaluation.similarity_alt"),
    )
    st.caption(t("evaluation.similarity_note", count=len(compared.after) - len(graded)))


def _render_confusion(compared: Comparison) -> None:
    before, after = confusion(compared.before), confusion(compared.after)
    heads = "".join(f'<th scope="col">{_breakable(_level_name(level))}</th>' for level in LEVELS)
    rows = "".join(
        f'<tr><th scope="row">{escape(t(f"evaluation.answered_{answered}"))}</th>'
        + "".join(_cell((answered, level), before, after) for level in LEVELS)
        + "</tr>"
        for answered in Answered
    )
    caption = escape(t("evaluation.confusion"))
    st.html(
        f'<div class="kb-scroll" tabindex="0" role="region" aria-label="{caption}"><table class="kb-confusion">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    st.caption(t("evaluation.confusion_note"))


def _breakable(name: str) -> str:
    """Where a column is narrow, ``HIGHLY_RELEVANT`` breaks behind its underscore."""
    return escape(name).replace("_", "_<wbr>")


def _level_name(level: RelevanceLevel | None) -> str:
    return LOOKS[level].name if level else t("evaluation.nothing")


def _cell(cell: Cell, before: Mapping[Cell, int], after: Mapping[Cell, int]) -> str:
    if cell == IMPOSSIBLE:
        return "<td>–</td>"
    kind, sign = ("kb-good", "✓") if cell in _GOOD else ("kb-bad", "✗") if cell in _BAD else ("kb-weak", "")
    count, former = after[cell], before[cell]
    shown = f"<b>{count}</b>" if count == former else f"<s>{former}</s> → <b>{count}</b>"
    return f'<td class="{kind if count else ""}">{shown}{f" <small>{sign}</small>" if sign and count else ""}</td>'


def _render_changes(compared: Comparison) -> None:
    """The figures before and after."""
    pairs = zip(figures_of(compared.before), figures_of(compared.after), strict=True)
    rows = ""
    for former, figure in pairs:
        name = escape(t(f"evaluation.{figure.key}"))
        now = f"<b>{figure.rate.count} / {figure.rate.of}</b> · {percent(figure.rate)}"
        was = f"<s>{former.rate.count}</s> → " if former.rate != figure.rate else ""
        rows += f'<tr><th scope="row">{name}</th><td>{was}{now}</td></tr>'
    st.html(f'<table class="kb-changes" aria-label="{escape(t("evaluation.changes"))}"><tbody>{rows}</tbody></table>')
