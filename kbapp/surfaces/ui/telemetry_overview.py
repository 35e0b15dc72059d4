"""The figures of the calls and their pictures, each in a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import Thresholds
from kbapp.domain.telemetry_summary import Stage, StageTimes, TelemetrySummary
from kbapp.surfaces.ui import telemetry_charts as charts
from kbapp.surfaces.ui.levels import Colour
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_busiest import render_busiest
from kbapp.surfaces.ui.telemetry_filter import local_text

STYLE_SHEET = Path(__file__).with_name("telemetry.css")
_LIST_HEIGHT = 230
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

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
    """The pictures, two in a row; ``documents``: all that could have been given."""
    left: list[Callable[[], None]] = [
        lambda: _render_levels(summary),
        lambda: _render_sessions(summary),
        lambda: _render_missed(summary),
        lambda: _render_given(summary),
    ]
    right: list[Callable[[], None]] = [
        lambda: _render_similarities(summary, thresholds),
        lambda: _render_latencies(summary),
        lambda: render_busiest(summary.busiest),
        lambda: _render_never(summary, documents),
    ]
    with st.container(key="telemetry_charts"):
        for pair in zip(left, right, strict=True):
            for column, render in zip(st.columns(2), pair, strict=True):
                with column, st.container(border=True, height="stretch"):
                    render()


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


def _heading(key: str, note: str) -> None:
    st.markdown(f"##### {t(f'telemetry.chart_{key}')}")
    st.caption(note)


def _chart(chart: charts.Picture, key: str) -> None:
    st.altair_chart(chart, key=f"telemetry_chart_{key}", alt=t(f"telemetry.chart_{key}"))


@contextmanager
def _card(key: str, note: str, *, empty: bool, instead: str) -> Iterator[bool]:
    _heading(key, note)
    if empty:
        st.caption(f":material/info: {instead}")
    yield not empty


def _render_levels(summary: TelemetrySummary) -> None:
    _heading("levels", t("telemetry.chart_levels_note"))
    _chart(charts.level_chart(summary), "levels")
    st.markdown(f"**{t('telemetry.chart_dedup')}**")
    if summary.of(Outcome.DEDUPED):
        _chart(charts.dedup_chart(summary), "dedup")
    else:
        st.caption(t("telemetry.no_dedup"))


def _render_similarities(summary: TelemetrySummary, thresholds: Thresholds) -> None:
    graded = sum(each.calls for each in summary.similarities)
    note = t("telemetry.chart_similarity_note", calls=f"{graded:,}")
    with _card("similarity", note, empty=not graded, instead=t("telemetry.no_similarity")) as has_any:
        if has_any:
            _chart(charts.similarity_chart(summary, thresholds), "similarity")


def _render_sessions(summary: TelemetrySummary) -> None:
    note = t("telemetry.chart_sessions_note")
    with _card("sessions", note, empty=not summary.sessions, instead=t("telemetry.no_sessions")) as has_any:
        if has_any:
            _chart(charts.session_chart(summary), "sessions")


def _render_latencies(summary: TelemetrySummary) -> None:
    _heading("latency", t("telemetry.chart_latency_note", width=_width(summary.bucket_seconds)))
    _chart(charts.latency_chart(summary), "latency")


def _width(seconds: int) -> str:
    unit, name = (_DAY, "days") if seconds >= _DAY else (_HOUR, "hours") if seconds >= _HOUR else (_MINUTE, "minutes")
    return t(f"telemetry.width_{name}", count=seconds // unit)


def _render_missed(summary: TelemetrySummary) -> None:
    note = t("telemetry.chart_missed_note")
    with _card("missed", note, empty=not summary.missed, instead=t("telemetry.no_missed")) as has_any:
        if has_any:
            rows = {
                t("telemetry.query"): [missed.query for missed in summary.missed],
                t("telemetry.calls"): [missed.calls for missed in summary.missed],
                t("telemetry.last"): [local_text(missed.last_at)[:16] for missed in summary.missed],
            }
            st.dataframe(rows, hide_index=True, height=_LIST_HEIGHT, alt=t("telemetry.chart_missed"))


def _render_given(summary: TelemetrySummary) -> None:
    shown = min(len(summary.given), charts.MOST_GIVEN)
    note = t("telemetry.chart_given_note", shown=shown, total=len(summary.given))
    with _card("given", note, empty=not summary.given, instead=t("telemetry.no_given")) as has_any:
        if has_any:
            _chart(charts.given_chart(summary), "given")


def _render_never(summary: TelemetrySummary, documents: Sequence[str]) -> None:
    never = summary.never_given(documents)
    note = t("telemetry.chart_never_note", never=len(never), total=len(documents))
    with _card("never", note, empty=not never, instead=t("telemetry.no_never")) as has_any:
        if has_any:
            rows = {t("telemetry.document"): list(never)}
            st.dataframe(rows, hide_index=True, height=_LIST_HEIGHT, alt=t("telemetry.chart_never"))
