"""The figures of the calls, then their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import Thresholds
from kbapp.domain.telemetry_summary import Stage, StageTimes, TelemetrySummary
from kbapp.surfaces.ui.levels import Colour
from kbapp.surfaces.ui.state import t

STYLE_SHEET = Path(__file__).with_name("telemetry.css")

# Four different things, of which none is part of another: each with its sign, colour and word.
_FIGURES: tuple[tuple[str, Outcome, Colour, str], ...] = (
    ("deduped", Outcome.DEDUPED, "violet", ":material/content_copy:"),
    ("missed", Outcome.NOT_FOUND, "gray", ":material/search_off:"),
    ("degraded", Outcome.DEGRADED, "orange", ":material/warning:"),
    ("errors", Outcome.ERROR, "red", ":material/block:"),
)


def render_figures(summary: TelemetrySummary) -> None:
    """How many calls, what became of them, and how long each stage took."""
    st.html(STYLE_SHEET)
    with st.container(key="telemetry_figures"):
        columns = st.columns(2 + len(_FIGURES), gap="small")
    sessions = t("telemetry.in_sessions", sessions=f"{summary.sessions:,}")
    label = f":material/call_made: {t('telemetry.calls')}"
    _figure(columns[0], label, f"{summary.calls:,}", sessions, t("telemetry.calls_help"))
    label = f":green[:material/check_circle:] {t('telemetry.found')}"
    _share(columns[1], label, summary, summary.found, t("telemetry.found_help"))
    for column, (key, outcome, colour, icon) in zip(columns[2:], _FIGURES, strict=True):
        label = f":{colour}[{icon}] {t(f'telemetry.{key}')}"
        _share(column, label, summary, summary.of(outcome), t(f"telemetry.{key}_help"))
    _render_times(summary.times)


def render_charts(summary: TelemetrySummary, thresholds: Thresholds, documents: Sequence[str]) -> None:
    """The pictures; ``documents``: all that could have been given."""
    from kbapp.surfaces.ui.telemetry_cards import render_cards  # altair takes half a second: the figures come first

    render_cards(summary, thresholds, documents)


def _figure(column: st.delta_generator.DeltaGenerator, label: str, value: str, below: str, about: str) -> None:
    column.metric(label, value, below, delta_color="off", delta_arrow="off", help=about, border=True, height="stretch")


def _share(
    column: st.delta_generator.DeltaGenerator, label: str, summary: TelemetrySummary, calls: int, about: str
) -> None:
    _figure(column, label, _percent(summary.share(calls)), t("telemetry.of_calls", calls=f"{calls:,}"), about)


def _percent(share: float) -> str:
    """No share of something is shown as nothing, and none but all as all."""
    if 0 < share < 0.001:
        return "< 0.1%"
    return f"{share:.0%}" if share in (0, 1) else f"{min(share, 0.999):.1%}"


def _render_times(times: Sequence[StageTimes]) -> None:
    by_stage = {each.stage: each for each in times}
    with st.container(key="telemetry_times"):
        columns = st.columns(len(Stage), gap="small")
    for column, stage in zip(columns, Stage, strict=True):
        found = by_stage.get(stage)
        label = f":material/timer: {t(f'telemetry.stage_{stage.value}')}"
        about = t("telemetry.stage_help", calls=f"{found.calls if found else 0:,}")
        if found:
            _figure(
                column, label, _milliseconds(found.p50_ms), t("telemetry.p95", value=_milliseconds(found.p95_ms)), about
            )
        else:
            _figure(column, label, "–", t("telemetry.p95", value="–"), about)


def _milliseconds(value: float) -> str:
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return t("telemetry.ms", value=f"{value:,.{digits}f}")
