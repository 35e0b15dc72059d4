"""The pictures of an evaluation. Each colour has its word beside it: no picture is read by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.domain.retrieval_metrics import Rate
from kbapp.service.what_if import Answered, Judged
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_charts import COLOURS, Picture

_INK = "#7d8796"  # of rules and labels inside a picture
_ROW_HEIGHT = 30
_MARGIN = 12
_BAND_HEIGHT = 100  # axis and the names of the thresholds included
_SPREAD = 7  # points of one similarity, side by side
_LOOKS = {
    Answered.RIGHT: ("green", "circle"),
    Answered.WRONG: ("orange", "square"),
    Answered.OFF_TOPIC: ("red", "cross"),
}


def rate_chart(rates: Mapping[str, Rate]) -> Picture:
    """A lying bar per way of ranking, with its 95 % interval and counts; the product's own is the strong one."""
    rows = []
    for name, rate in rates.items():
        if rate.value is None or rate.interval is None:
            continue
        rows.append(
            {
                "name": t(f"evaluation.way_{name}"),
                "share": rate.value,
                "low": rate.interval[0],
                "high": rate.interval[1],
                "label": f"{rate.count} / {rate.of} · {rate.value:.0%}",
                "colour": COLOURS["blue" if name == "ranking" else "gray"],
            }
        )
    axis = alt.Axis(labelLimit=180, ticks=False, domain=False)
    base = alt.Chart(_inline(rows)).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=axis),
        tooltip=[
            alt.Tooltip("name:N", title=t("evaluation.way")),
            alt.Tooltip("label:N", title=t("evaluation.found")),
            alt.Tooltip("low:Q", title="95 % ≥", format=".0%"),
            alt.Tooltip("high:Q", title="95 % ≤", format=".0%"),
        ],
    )
    scale = alt.Scale(domain=[0, 1.7])  # room for the counts behind the longest bar
    x = alt.X("share:Q", title=None, axis=None, scale=scale)
    bars = base.mark_bar(cornerRadiusEnd=3, height={"band": 0.6}).encode(x=x, color=alt.Color("colour:N", scale=None))
    whiskers = base.mark_rule(color=_INK, strokeWidth=1.5).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    labels = base.mark_text(align="left", dx=6, color=_INK).encode(x=alt.X("high:Q", scale=scale), text="label:N")
    return alt.layer(bars, whiskers, labels).properties(height=_ROW_HEIGHT * len(rows) + _MARGIN)


def similarity_chart(judged: Sequence[Judged], in_force: Thresholds, chosen: Thresholds) -> Picture:
    """A point per query at the similarity that is graded, in a band per answer; the thresholds are lines."""
    bands = {answered: t(f"evaluation.answered_{answered}") for answered in Answered}
    rows = [
        {
            "similarity": each.similarity,
            "band": bands[each.answered],
            "place": number % _SPREAD,
            "query": each.outcome.label.query,
            "level": LOOKS[each.level].name,
            "document": each.document or "–",
        }
        for number, each in enumerate(judged)
        if each.similarity is not None
    ]
    names = list(bands.values())
    colours = [COLOURS[_colour] for _colour, _ in _LOOKS.values()]  # type: ignore[index]
    points = (
        alt.Chart(_inline(rows))
        .mark_point(filled=True, size=38, opacity=0.72)
        .encode(
            x=alt.X("similarity:Q", title=t("telemetry.similarity"), scale=alt.Scale(domain=[0, 1]), axis=_x_axis()),
            y=alt.Y("band:N", sort=names, scale=alt.Scale(domain=names), title=None, axis=_band_axis()),
            yOffset=alt.YOffset("place:Q", scale=alt.Scale(domain=[-2, _SPREAD + 1])),
            color=alt.Color("band:N", legend=None, scale=alt.Scale(domain=names, range=colours)),
            shape=alt.Shape(
                "band:N", legend=None, scale=alt.Scale(domain=names, range=[shape for _, shape in _LOOKS.values()])
            ),
            tooltip=[
                alt.Tooltip("query:N", title=t("telemetry.query")),
                alt.Tooltip("similarity:Q", title=t("telemetry.similarity"), format=".3f"),
                alt.Tooltip("level:N", title=t("telemetry.level")),
                alt.Tooltip("document:N", title=t("telemetry.document")),
            ],
        )
    )
    return alt.layer(points, *_lines(in_force, chosen)).properties(height=_BAND_HEIGHT * len(names))


def _x_axis() -> alt.Axis:
    return alt.Axis(grid=False, format=".1f", values=[number / 10 for number in range(11)])


def _band_axis() -> alt.Axis:
    return alt.Axis(ticks=False, domain=False, labelLimit=150, labelOverlap=False, labelExpr="split(datum.value, ', ')")


def _lines(in_force: Thresholds, chosen: Thresholds) -> list[alt.Chart]:
    """The chosen thresholds with their names; those in force, where they are others, as thin dashes."""
    levels = (RelevanceLevel.REFERENCE, RelevanceLevel.HIGHLY_RELEVANT)
    names = [LOOKS[level].name for level in levels]
    rows = [
        {"at": at, "top": 16 * number - 34, "name": f"{name} ≥ {at:.2f}"}
        for number, (at, name) in enumerate(zip((chosen.reference, chosen.highly_relevant), names, strict=True))
    ]
    base = alt.Chart(_inline(rows)).encode(x="at:Q", tooltip=alt.Tooltip("name:N", title=t("telemetry.level")))
    text = base.mark_text(align="right", dx=-5, baseline="top", color=_INK)  # above the picture, one below the other
    lines = [base.mark_rule(color=_INK, strokeWidth=2), text.encode(y=alt.Y("top:Q", scale=None), text="name:N")]
    if in_force != chosen:
        before = [{"at": in_force.reference}, {"at": in_force.highly_relevant}]
        lines.append(alt.Chart(_inline(before)).mark_rule(color=_INK, strokeDash=[3, 4]).encode(x="at:Q"))
    return lines


def _inline(rows: Sequence[Mapping[str, object]]) -> alt.Data:
    return alt.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]
