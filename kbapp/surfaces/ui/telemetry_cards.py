"""The pictures and lists of the telemetry, each in a card, two in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import Thresholds
from kbapp.domain.telemetry_summary import TelemetrySummary
from kbapp.surfaces.ui import telemetry_charts as charts
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_busiest import render_busiest
from kbapp.surfaces.ui.telemetry_filter import local_text

_ROW_HEIGHT = 35
_LIST_ROWS = 7
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def render_cards(summary: TelemetrySummary, thresholds: Thresholds, documents: Sequence[str]) -> None:
    """``documents``: all that could have been given."""
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


def _heading(key: str, note: str) -> None:
    st.markdown(f"### {t(f'telemetry.chart_{key}')}")
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
            config = {
                t("telemetry.query"): st.column_config.TextColumn(width=220),
                t("telemetry.calls"): st.column_config.NumberColumn(width=60),
                t("telemetry.last"): st.column_config.TextColumn(width=125),
            }
            alt = t("telemetry.chart_missed")
            st.dataframe(rows, hide_index=True, height=_height(len(summary.missed)), column_config=config, alt=alt)


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
            st.dataframe(rows, hide_index=True, height=_height(len(never)), alt=t("telemetry.chart_never"))


def _height(rows: int) -> int:
    return _ROW_HEIGHT * (min(rows, _LIST_ROWS) + 1) + 3
