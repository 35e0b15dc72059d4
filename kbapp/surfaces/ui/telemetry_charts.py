"""The pictures of the telemetry. Each colour has its word beside it: no picture is read by colour alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import altair as alt

from kbapp.domain.invocation import Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.domain.telemetry_summary import BIN_WIDTH, AnswerCount, TelemetrySummary
from kbapp.surfaces.ui.levels import LOOKS, Colour
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_filter import local_zone

# The badges' colours, such that each has a contrast of 3 to 1 on the light and on the dark background.
COLOURS: Mapping[Colour, str] = {
    "green": "#1c9a6c",
    "blue": "#2f6fed",
    "orange": "#d97706",
    "violet": "#8b5cf6",
    "gray": "#7d8796",
    "red": "#dc3b4b",
}
_NAME_END = "length(datum.value) > 30 ? '…' + slice(datum.value, -29) : datum.value"  # of a path, the end tells more
_INK = "#7d8796"  # of rules and labels inside a picture
_MANY_CALLS = 20  # the last bar holds this many and more
MOST_GIVEN = 10
_ROW_HEIGHT = 28
_MARGIN = 12
_TWO_DAYS = 2 * 86_400
_HEIGHT = 230
_TALL = 310  # beside two charts of bars

Picture = alt.Chart | alt.LayerChart | alt.FacetChart
Rows = Sequence[Mapping[str, object]]
Condition = Callable[[AnswerCount], bool]


def level_chart(summary: TelemetrySummary) -> Picture:
    """Calls by level, and those without one by what came in its place."""
    rows = []
    for name, colour, condition in _answers():
        calls = summary.count(condition)
        rows.append({"name": name, "calls": calls, "share": summary.share(calls), "colour": COLOURS[colour]})
    return _bars(rows, t("telemetry.level"))


def dedup_chart(summary: TelemetrySummary) -> Picture:
    """Withheld calls by reason."""
    counts = {reason: summary.of_reason(reason) for reason in DedupReason}
    total = sum(counts.values()) or 1
    rows = [
        {"name": t(f"dedup.{reason.value}"), "calls": calls, "share": calls / total, "colour": COLOURS["violet"]}
        for reason, calls in counts.items()
    ]
    return _bars(rows, t("telemetry.reason"))


def given_chart(summary: TelemetrySummary) -> Picture:
    """The documents that most calls gave text of."""
    rows = [
        {
            "name": given.document,
            "calls": given.calls,
            "share": summary.share(given.calls),
            "colour": COLOURS["blue"],
        }
        for given in summary.given[:MOST_GIVEN]
    ]
    return _bars(rows, t("telemetry.document"))


def similarity_chart(summary: TelemetrySummary, thresholds: Thresholds) -> Picture:
    """Calls by the similarity that was graded; the thresholds are lines with their level."""
    rows = []
    for each in summary.similarities:
        look = LOOKS[each.level(thresholds)]
        name = look.name if each.level(thresholds) else t("why.below")
        bounds = {"lower": each.lower, "upper": round(each.lower + BIN_WIDTH, 2)}
        rows.append({**bounds, "calls": each.calls, "level": name, "colour": COLOURS[look.colour]})
    x = alt.X(
        "lower:Q",
        bin="binned",
        scale=alt.Scale(domain=[0, 1]),
        title=t("telemetry.similarity"),
        axis=alt.Axis(grid=False),
    )
    bars = (
        alt.Chart(_inline(rows))
        .mark_bar(stroke=None)
        .encode(
            x=x,
            x2="upper:Q",
            y=alt.Y("calls:Q", title=t("telemetry.count"), axis=alt.Axis(tickMinStep=1)),
            color=alt.Color("colour:N", scale=None),
            tooltip=[
                alt.Tooltip("lower:Q", title="≥", format=".2f"),
                alt.Tooltip("upper:Q", title="<", format=".2f"),
                alt.Tooltip("calls:Q", title=t("telemetry.count")),
                alt.Tooltip("level:N", title=t("telemetry.zone")),
            ],
        )
    )
    return alt.layer(bars, *_threshold_lines(thresholds)).properties(height=_TALL)


def session_chart(summary: TelemetrySummary) -> Picture:
    """Sessions by how many calls they made."""
    sessions: dict[int, int] = {}
    for size in summary.session_sizes:
        calls = min(size.calls, _MANY_CALLS)
        sessions[calls] = sessions.get(calls, 0) + size.sessions
    last = max(sessions, default=1)
    rows = [{"calls": _size_name(calls), "sessions": sessions.get(calls, 0)} for calls in range(1, last + 1)]
    chart: alt.Chart = (
        alt.Chart(_inline(rows))
        .mark_bar(color=COLOURS["blue"], size=14)
        .encode(
            x=alt.X("calls:O", sort=None, title=t("telemetry.calls_in_session"), axis=alt.Axis(labelAngle=0)),
            y=alt.Y("sessions:Q", title=t("telemetry.sessions"), axis=alt.Axis(tickMinStep=1)),
            tooltip=[
                alt.Tooltip("calls:O", title=t("telemetry.calls_in_session")),
                alt.Tooltip("sessions:Q", title=t("telemetry.sessions")),
            ],
        )
        .properties(height=_HEIGHT)
    )
    return chart


def latency_chart(summary: TelemetrySummary) -> Picture:
    """p50 and p95 of whole calls over time: two colours, two kinds of line, two shapes of point."""
    zone = local_zone()
    rows = []
    for bucket in summary.latencies:
        start = f"{datetime.fromtimestamp(bucket.start, zone):%Y-%m-%dT%H:%M:%S}"  # without a zone: as the clock shows
        for name, milliseconds in (("p50", bucket.p50_ms), ("p95", bucket.p95_ms)):
            rows.append({"start": start, "percentile": name, "ms": max(milliseconds, 0.01), "calls": bucket.calls})
    kind = alt.Legend(title=None, orient="top", direction="horizontal", symbolType="stroke", symbolSize=300)
    names = ["p50", "p95"]
    chart: alt.Chart = (
        alt.Chart(_inline(rows))
        .mark_line(point=alt.OverlayMarkDef(size=28, filled=True), strokeWidth=1.6)
        .encode(
            x=alt.X("start:T", title=None, axis=alt.Axis(grid=False, labelOverlap=True, format=_time_format(summary))),
            y=alt.Y("ms:Q", scale=alt.Scale(type="log"), title="ms", axis=alt.Axis(tickCount=4, format="~g")),
            color=alt.Color(
                "percentile:N",
                scale=alt.Scale(domain=names, range=[COLOURS["blue"], COLOURS["orange"]]),
                legend=kind,
            ),
            strokeDash=alt.StrokeDash(
                "percentile:N", scale=alt.Scale(domain=names, range=[[1, 0], [5, 3]]), legend=kind
            ),
            tooltip=[
                alt.Tooltip("start:T", title=t("telemetry.time"), format="%Y-%m-%d %H:%M"),
                alt.Tooltip("percentile:N", title=t("telemetry.percentile")),
                alt.Tooltip("ms:Q", title="ms", format=",.4~r"),
                alt.Tooltip("calls:Q", title=t("telemetry.count")),
            ],
        )
        .properties(height=_HEIGHT)
    )
    return chart


def _time_format(summary: TelemetrySummary) -> str:
    """Figures only: names of days and months would be English in every language."""
    span = summary.latencies[-1].start - summary.latencies[0].start
    return "%m-%d" if span > _TWO_DAYS else "%H:%M"


def _bars(rows: Rows, title: str) -> Picture:
    """Lying bars in their order, the number at the end of each."""
    shown = [{**row, "label": f"{row['calls']:,} · {row['share']:.0%}"} for row in rows]
    y = alt.Y(
        "name:N", sort=None, title=None, axis=alt.Axis(labelLimit=200, labelExpr=_NAME_END, ticks=False, domain=False)
    )
    room = max((_number(row["calls"]) for row in rows), default=0) * 1.5 or 1
    x = alt.X("calls:Q", title=None, axis=None, scale=alt.Scale(domain=[0, room]))
    tooltip = [
        alt.Tooltip("name:N", title=title),
        alt.Tooltip("calls:Q", title=t("telemetry.count"), format=","),
        alt.Tooltip("share:Q", title=t("telemetry.share"), format=".1%"),
    ]
    base = alt.Chart(_inline(shown)).encode(y=y, x=x, tooltip=tooltip)
    bars = base.mark_bar(cornerRadiusEnd=3, height={"band": 0.66}).encode(color=alt.Color("colour:N", scale=None))
    labels = base.mark_text(align="left", dx=6, color=_INK).encode(text="label:N")
    return alt.layer(bars, labels).properties(height=_ROW_HEIGHT * len(rows) + _MARGIN)


def _answers() -> list[tuple[str, Colour, Condition]]:
    levels = [(look.name, look.colour, _has(level)) for level, look in LOOKS.items() if level]
    missed, refused = LOOKS[None], t("level.error")
    return [
        *levels,
        (missed.name, missed.colour, _has(None, Outcome.NOT_FOUND, Outcome.OK)),
        (t("telemetry.no_level_degraded"), "orange", _has(None, Outcome.DEGRADED)),
        (refused, "red", _has(None, Outcome.ERROR)),
    ]


def _has(level: RelevanceLevel | None, *outcomes: Outcome) -> Condition:
    """Answers of this level, and of one of these outcomes if any are named."""
    return lambda answer: answer.level is level and (not outcomes or answer.outcome in outcomes)


def _threshold_lines(thresholds: Thresholds) -> tuple[alt.Chart, alt.Chart]:
    rows = [
        {
            "at": thresholds.reference,
            "top": 2,
            "name": f"{LOOKS[RelevanceLevel.REFERENCE].name} ≥ {thresholds.reference:g}",
        },
        {
            "at": thresholds.highly_relevant,
            "top": 18,
            "name": f"{LOOKS[RelevanceLevel.HIGHLY_RELEVANT].name} ≥ {thresholds.highly_relevant:g}",
        },
    ]
    base = alt.Chart(_inline(rows)).encode(x="at:Q", tooltip=alt.Tooltip("name:N", title=t("telemetry.level")))
    lines = base.mark_rule(color=_INK, strokeDash=[4, 3], strokeWidth=1.5)
    labels = base.mark_text(align="right", dx=-5, baseline="top", color=_INK)
    # Pixels from the top: one below the other, since the second is wider than the gap between the lines.
    return lines, labels.encode(y=alt.Y("top:Q", scale=None), text="name:N")


def _size_name(calls: int) -> str:
    return f"{calls}+" if calls == _MANY_CALLS else str(calls)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _inline(rows: Rows) -> alt.Data:
    return alt.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]
