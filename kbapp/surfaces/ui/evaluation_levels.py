"""Levels against answers, and what they would be under other thresholds: recomputed from the rows, no lookup."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import streamlit as st

from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.service.evaluation_report import LEVELS
from kbapp.service.grading import HIGHLY_RELEVANT_SETTING, REFERENCE_SETTING
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.what_if import Answered, Cell, Judged, confusion, judge
from kbapp.settings import Settings
from kbapp.surfaces.ui.context import CONFIG_VARIABLE, errors_as_sentences
from kbapp.surfaces.ui.evaluation_figures import figures_of, percent
from kbapp.surfaces.ui.evaluation_queries import render_queries
from kbapp.surfaces.ui.evaluation_run import Evaluated
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

REFERENCE = "evaluation_reference"
HIGHLY = "evaluation_highly"
ASKED = "evaluation_asked"  # whether the question before applying is open
WRITTEN = "evaluation_written"  # the file that the thresholds were written to last

_GOOD: frozenset[Cell] = frozenset(
    {(Answered.RIGHT, level) for level in LEVELS if level} | {(Answered.OFF_TOPIC, None)}
)
_BAD: frozenset[Cell] = frozenset(
    (answered, level)
    for answered in (Answered.WRONG, Answered.OFF_TOPIC)
    for level in (RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT)
)
IMPOSSIBLE: Cell = (Answered.RIGHT, None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same queries by the thresholds in force and by the chosen ones."""

    in_force: Thresholds
    chosen: Thresholds
    before: tuple[Judged, ...]
    after: tuple[Judged, ...]

    @property
    def is_changed(self) -> bool:
        """Whether other thresholds are chosen than those in force."""
        return self.in_force != self.chosen


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
                chosen = _render_sliders(in_force)
                compared = Comparison(in_force, chosen, judge(result.cases, in_force), judge(result.cases, chosen))
                _render_picture(compared)
            with table:
                _render_confusion(compared)
                _render_changes(compared)
                _render_apply(kb, compared)
        with st.container(border=True, key="evaluation_queries"):
            render_queries(kb, compared.before, compared.after)


def _render_sliders(in_force: Thresholds) -> Thresholds:
    """The chosen thresholds; the sliders push each other, so that the first is never above the second."""
    st.session_state.setdefault(REFERENCE, in_force.reference)
    st.session_state.setdefault(HIGHLY, in_force.highly_relevant)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="evaluation_sliders"):
        for key, level in ((REFERENCE, RelevanceLevel.REFERENCE), (HIGHLY, RelevanceLevel.HIGHLY_RELEVANT)):
            st.slider(
                f"{LOOKS[level].name} ≥",
                0.0,
                1.0,
                step=0.01,
                key=key,
                on_change=_push,
                args=(key,),
                help=t(f"evaluation.slider_{level.value}"),
                persist_state="session",
            )
    return replace(
        in_force,
        reference=_exact(st.session_state[REFERENCE], in_force.reference),
        highly_relevant=_exact(st.session_state[HIGHLY], in_force.highly_relevant),
    )


def _push(moved: str) -> None:
    reference, highly = st.session_state[REFERENCE], st.session_state[HIGHLY]
    if reference > highly:
        st.session_state[HIGHLY if moved == REFERENCE else REFERENCE] = st.session_state[moved]


def _exact(value: float, in_force: float) -> float:
    """Without the dust of floating steps, which would be written to the settings."""
    return in_force if abs(value - in_force) < 1e-9 else round(value, 4)


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
    heads = "".join(f'<th scope="col">{escape(_level_name(level))}</th>' for level in LEVELS)
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


def _render_apply(kb: KnowledgeBase, compared: Comparison) -> None:
    changed = sum(_is_other(*pair) for pair in zip(compared.before, compared.after, strict=True))
    if compared.is_changed:
        st.session_state.pop(WRITTEN, None)
        st.markdown(f":material/swap_horiz: {t('evaluation.changed', count=changed)}")
    elif WRITTEN in st.session_state:
        st.success(t("evaluation.written", file=plain(st.session_state[WRITTEN])), icon=":material/check:")
    else:
        st.markdown(f":material/tune: {t('evaluation.unchanged')}")
    with st.container(horizontal=True):
        st.button(
            t("evaluation.apply"),
            key="evaluation_apply",
            type="primary" if compared.is_changed else "secondary",
            icon=":material/save:",
            on_click=_ask,
            disabled=not compared.is_changed,
        )
        st.button(
            t("evaluation.reset"),
            key="evaluation_reset",
            icon=":material/undo:",
            on_click=set_sliders,
            args=(compared.in_force,),
            disabled=not compared.is_changed,
        )
    if ASKED in st.session_state and compared.is_changed:
        st.dialog(t("evaluation.apply_title"), width="medium", on_dismiss=_forget_question)(_confirm)(kb, compared)


def _ask() -> None:
    st.session_state[ASKED] = True


def _forget_question() -> None:
    st.session_state.pop(ASKED, None)


def _is_other(before: Judged, after: Judged) -> bool:
    return (before.level, before.document) != (after.level, after.document)


def set_sliders(thresholds: Thresholds) -> None:
    """Put both sliders there."""
    st.session_state[REFERENCE], st.session_state[HIGHLY] = thresholds.reference, thresholds.highly_relevant


def _confirm(kb: KnowledgeBase, compared: Comparison) -> None:
    """What is written where, before it is."""
    with errors_as_sentences():
        config = os.environ.get(CONFIG_VARIABLE)
        settings = Settings.load(Path(config) if config else None)
        st.markdown(t("evaluation.apply_where", file=plain(str(settings.project_root / settings.config_file))))
        values = (
            (REFERENCE_SETTING, compared.in_force.reference, compared.chosen.reference),
            (HIGHLY_RELEVANT_SETTING, compared.in_force.highly_relevant, compared.chosen.highly_relevant),
        )
        st.code("\n".join(f"{name}: {new:g}    # {old:g}" for name, old, new in values), language="yaml")
        st.caption(t("evaluation.apply_note"))
        _warn_of_environment([name for name, _, _ in values])
        with st.container(horizontal=True, horizontal_alignment="right"):
            keep = st.button(t("evaluation.apply_no"), key="evaluation_apply_no")
            write = st.button(
                t("evaluation.apply_yes"), key="evaluation_apply_yes", type="primary", icon=":material/save:"
            )
        if write:
            chosen = compared.chosen
            file = kb.apply_thresholds(reference=chosen.reference, highly_relevant=chosen.highly_relevant)
            st.session_state[WRITTEN] = str(file)
        if write or keep:
            _forget_question()
            st.rerun()


def _warn_of_environment(names: Sequence[str]) -> None:
    """A variable of the environment wins over the file at the next start."""
    variables = [f"KBAPP_{name.upper().replace('.', '__').replace('-', '_')}" for name in names]
    for variable in variables:
        if variable in os.environ:
            st.warning(t("evaluation.apply_environment", variable=variable), icon=":material/warning:")
