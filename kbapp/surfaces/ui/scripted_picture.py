"""What the memory and the constraints save: one sentence, four figures, and a bar per run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from kbapp.domain.simulation_metrics import SimulationMetrics
from kbapp.domain.step_outcome import StepOutcome, outcome_counts
from kbapp.service.observed_run import ObservedRun
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.scripted_looks import OUTCOME_LOOKS, chip_html, sign_html
from kbapp.surfaces.ui.scripted_tasks import label_of
from kbapp.surfaces.ui.state import t


def render_savings(runs: Sequence[ObservedRun]) -> None:
    """From the first run to the last: a sentence with figures, and the figures one by one."""
    before, after = runs[0].figures(), runs[-1].figures()
    st.header(headline(before, after), anchor=False)
    note = t("scripted.headline_note", policy=runs[0].policy, task=plain(label_of(runs[0].task)))
    st.caption(note)
    _render_figures(before, after)
    if runs[-1].outcome.not_covered:
        paths = ", ".join(map(plain, runs[-1].outcome.not_covered))
        st.warning(t("scripted.not_covered", paths=paths), icon=":material/warning:")
    for problem in _problems(runs):
        st.warning(plain(problem), icon=":material/warning:")


def headline(before: SimulationMetrics, after: SimulationMetrics) -> str:
    """The savings in one sentence."""
    saved = t(
        "scripted.headline",
        before=_calls(before.calls),
        calls=after.calls,
        characters_before=f"{before.characters_given:,}",
        characters=f"{after.characters_given:,}",
    )
    return saved + _documents(before, after)


def _documents(before: SimulationMetrics, after: SimulationMetrics) -> str:
    needed, covered = after.needed, after.needed_covered
    if not needed:
        return ""
    if covered < needed:
        return t("scripted.headline_some", covered=covered, needed=needed, before=before.needed_covered)
    return t("scripted.headline_one") if needed == 1 else t("scripted.headline_all", needed=needed)


def _render_figures(before: SimulationMetrics, after: SimulationMetrics) -> None:
    pairs = [
        ("calls", before.calls, after.calls),
        ("characters", before.characters_given, after.characters_given),
        ("twice", before.characters_given_twice, after.characters_given_twice),
    ]
    with st.container(key="simulator_figures"):
        columns = st.columns(len(pairs) + 1)
    for column, (key, first, last) in zip(columns, pairs, strict=False):
        is_less = last < first
        change = f"{(last - first) / first:+.0%}".replace("-", "−") if first else None
        with column:
            st.metric(
                t(f"scripted.{key}"),
                f"{first:,} → {last:,}",
                change,
                help=t(f"scripted.{key}_help"),
                border=True,
                height="stretch",
                delta_color="green" if is_less else "off",
                delta_arrow="down" if is_less else "off",
            )
    with columns[-1]:
        shown = t("scripted.of", count=after.needed_covered, total=after.needed) if after.needed else "–"
        st.metric(t("scripted.covered"), shown, help=t("scripted.covered_help"), border=True, height="stretch")


def _problems(runs: Sequence[ObservedRun]) -> list[str]:
    """What could not be searched, each said once."""
    told = [call.result.degraded for run in runs for call in run.outcome.transcript.calls]
    return list(dict.fromkeys(problem for problem in told if problem))


def render_picture(runs: Sequence[ObservedRun], steps: int) -> None:
    """A bar per run after so many steps, as long as the plan, and what the signs and colours mean."""
    total = len(runs[0].task.steps)
    title = "scripted.picture" if steps >= total else "scripted.picture_at"
    st.markdown(f"**{t(title, step=steps, steps=total)}**")
    rows = "".join(_row(run, steps, total) for run in runs)
    seen = outcome_counts(entry for run in runs for entry in run.entries)
    st.html(f'<div class="kb-runs">{rows}{_legend(seen)}</div>')


def _row(run: ObservedRun, steps: int, total: int) -> str:
    counts = outcome_counts(run.entries[:steps])
    way = t(f"scripted.way.{run.way}")
    parts = ", ".join(f"{count} {OUTCOME_LOOKS[outcome].name}" for outcome, count in counts.items())
    segments = "".join(_segment(outcome, count) for outcome, count in counts.items())
    rest = f'<span style="flex:{total - steps}"></span>' if steps < total else ""
    note, told = escape(t(f"scripted.note.{run.way}")), escape(t("scripted.bar", way=way, parts=parts))
    return (
        f'<div class="kb-run"><div class="kb-run-name"><b>{escape(way)}</b> <small>{note}</small></div>'
        f'<div class="kb-run-bar" role="img" aria-label="{told}">{segments}{rest}</div>'
        f'<div class="kb-run-figures">{escape(figures_line(run.figures(steps)))}</div></div>'
    )


def _segment(outcome: StepOutcome, count: int) -> str:
    title = f"{count} {OUTCOME_LOOKS[outcome].name}"
    return (
        f'<span class="kb-segment kb-is-{outcome.name.lower()}" style="flex:{count}" title="{escape(title)}">'
        f"{sign_html(outcome)}<b>{count}</b></span>"
    )


def figures_line(figures: SimulationMetrics) -> str:
    """What a run cost and brought, on one line."""
    parts = [
        _calls(figures.calls),
        t("scripted.bar_characters", characters=f"{figures.characters_given:,}"),
    ]
    if figures.characters_given_twice:
        parts.append(t("scripted.bar_twice", characters=f"{figures.characters_given_twice:,}"))
    if figures.needed:
        parts.append(t("scripted.bar_covered", covered=figures.needed_covered, needed=figures.needed))
    return " · ".join(parts)


def _calls(count: int) -> str:
    return t("scripted.bar_call") if count == 1 else t("scripted.bar_calls", calls=count)


def _legend(outcomes: Sequence[StepOutcome] | dict[StepOutcome, int]) -> str:
    items = "".join(
        f"<li>{chip_html(outcome)} <small>{escape(t(f'outcome.note.{outcome}'))}</small></li>" for outcome in outcomes
    )
    return f'<ul class="kb-legend" aria-label="{escape(t("scripted.legend"))}">{items}</ul>'
