"""What an evaluation says at first sight: four rates and a time, the kinds of queries, and what retrieval must beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from kbapp.domain.labelled_queries import Kind
from kbapp.domain.level_cuts import LevelCuts
from kbapp.domain.relevance import Thresholds
from kbapp.domain.retrieval_metrics import DEPTH, ListFigures, Mean, Rate
from kbapp.service.evaluation_report import CROSS_LANGUAGE, LEVELS, EvaluationReport, Groups
from kbapp.service.what_if import TRAPS, Judged, KindFigures, kind_figures, level_figures
from kbapp.surfaces.ui.evaluation_run import Evaluated
from kbapp.surfaces.ui.evaluation_tables import render_table
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

STYLE_SHEET = Path(__file__).with_name("evaluation.css")
KIND = "evaluation_compared_kind"
_TOP = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """A rate with its sign, and whether more of it is better."""

    key: str
    icon: str
    rate: Rate


def figures_of(judged: Sequence[Judged]) -> tuple[Figure, ...]:
    """The rates that depend on levels, in the order of the screen."""
    figures = level_figures(judged)
    return (
        Figure("right", ":green[:material/check_circle:]", figures.right),
        Figure("right_highly", ":blue[:material/verified:]", figures.right_highly),
        Figure("off_topic_nothing", ":gray[:material/search_off:]", figures.off_topic_nothing),
        Figure("off_topic_highly", ":red[:material/warning:]", figures.off_topic_highly),
    )


def render_figures(result: Evaluated, judged: Sequence[Judged], thresholds: Thresholds, cuts: LevelCuts | None) -> None:
    """What was run, and the figures by the thresholds in force; ``cuts``: found for this knowledge base."""
    st.header(t("evaluation.result", name=plain(result.name), count=len(judged)), anchor=False)
    st.caption(
        t(
            "evaluation.result_note",
            time=f"{result.ended:%Y-%m-%d %H:%M}",
            reference=f"{thresholds.reference:g}",
            highly=f"{thresholds.highly_relevant:g}",
        )
    )
    if cuts:
        st.caption(t("home.profile.probes", count=cuts.probes, day=cuts.calibrated_at[:10]))
    measured = next((case.evidence.thresholds for case in result.cases if case.evidence), thresholds)
    if measured != thresholds:
        st.info(
            t(
                "evaluation.other_thresholds",
                reference=f"{measured.reference:g}",
                highly=f"{measured.highly_relevant:g}",
            ),
            icon=":material/info:",
        )
    with st.container(key="evaluation_figures"):
        columns = st.columns(5, gap="small")
    for column, figure in zip(columns, figures_of(judged), strict=False):
        label = f"{figure.icon} {t(f'evaluation.{figure.key}')}"
        _metric(column, label, percent(figure.rate), _counted(figure.rate), t(f"evaluation.{figure.key}_help"))
    latency = result.report.latency_ms
    label = f":material/timer: {t('evaluation.latency')}"
    p95 = t("telemetry.p95", value=_milliseconds(latency["p95"]))
    _metric(columns[-1], label, _milliseconds(latency["p50"]), p95, t("evaluation.latency_help"))


def percent(rate: Rate) -> str:
    """A rate, or a dash when there was nothing to count."""
    return "–" if rate.value is None else f"{rate.value:.0%}"


def _counted(rate: Rate) -> str:
    if rate.interval is None:
        return t("evaluation.none_such")
    low, high = rate.interval
    return t("evaluation.counted", count=rate.count, of=rate.of, low=f"{100 * low:.0f}", high=f"{100 * high:.0f}")


def _metric(column: st.delta_generator.DeltaGenerator, label: str, value: str, below: str, about: str) -> None:
    """As ``st.metric``, which cuts what is longer than its column."""
    with column, st.container(border=True, gap="xsmall", height="stretch"):
        st.metric(label, value, label_visibility="collapsed")
        st.markdown(label, help=about)
        st.caption(below)


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else t("telemetry.ms", value=f"{value:,.0f}")


def render_kinds(report: EvaluationReport, judged: Sequence[Judged]) -> None:
    """A row per kind; of what is given by the thresholds in force, of the ranking as it was measured."""
    kinds = kind_figures(judged)
    st.markdown(f"### {t('evaluation.by_kind')}")
    st.caption(t("evaluation.by_kind_note"))
    heads = [
        t("evaluation.kind"),
        t("evaluation.queries"),
        t("evaluation.right"),
        "R@5",
        f"MRR@{DEPTH}",
        *(LOOKS[level].name if level else t("evaluation.nothing") for level in LEVELS),
    ]
    rows = [_kind_row(name, figures, _ranked(report.ranking, name)) for name, figures in kinds.items()]
    render_table(t("evaluation.by_kind"), heads, rows)


def _kind_row(name: str, figures: KindFigures, ranked: ListFigures | None) -> list[str]:
    is_off_topic = name in (Kind.OFFTOPIC.value, TRAPS)
    return [
        t(f"evaluation.kind_{name}"),
        str(figures.right.of),
        "–" if is_off_topic else _share(figures.right),
        _share(ranked.recall[_TOP]) if ranked else "–",
        _mean(ranked.mrr) if ranked else "–",
        *(_at_level(rate, is_counted=bool(level) and not is_off_topic) for level, rate in figures.levels.items()),
    ]


def _at_level(rate: Rate, *, is_counted: bool) -> str:
    """Right of the answers at a level; where none could be right, how many they are."""
    if not rate.of:
        return "–"
    return f"{rate.count} / {rate.of}" if is_counted else str(rate.of)


def _ranked(groups: Groups[ListFigures], name: str) -> ListFigures | None:
    if name == CROSS_LANGUAGE:
        return groups.cross_language
    return next((figures for kind, figures in groups.kinds.items() if kind.value == name), None)


def _mean(mean: Mean) -> str:
    return "–" if mean.value is None else f"{mean.value:.2f}"


def _share(rate: Rate) -> str:
    return "–" if rate.value is None else f"{rate.count} / {rate.of} · {rate.value:.0%}"


@st.fragment
def render_comparison(report: EvaluationReport) -> None:
    """The ranking beside each leg alone and the baselines; of one kind, if one is chosen."""
    from kbapp.surfaces.ui import evaluation_charts as charts  # altair takes half a second: the figures come first

    st.markdown(f"### {t('evaluation.comparison')}")
    st.caption(t("evaluation.comparison_note"))
    kinds = [kind.value for kind in report.ranking.kinds]
    chosen = st.segmented_control(
        t("evaluation.of_kind"),
        ["", *kinds],
        format_func=lambda kind: t(f"evaluation.kind_{kind}") if kind else t("evaluation.all_kinds"),
        default="",
        key=KIND,
        required=True,
    )
    lists = {"ranking": report.ranking, **report.legs, **report.baselines}
    figures = {name: _ranked(groups, chosen) if chosen else groups.overall for name, groups in lists.items()}
    with st.container(key="evaluation_comparison"):
        columns = st.columns(2)
    for column, k in zip(columns, (1, _TOP), strict=True):
        rates = {name: each.recall[k] for name, each in figures.items() if each}
        with column:
            st.markdown(f"**{t(f'evaluation.recall_{k}')}**")
            alt = t("evaluation.comparison_alt", k=k, rates=_told(rates))
            st.altair_chart(charts.rate_chart(rates), key=f"evaluation_chart_recall_{k}", alt=alt)


def _told(rates: dict[str, Rate]) -> str:
    return ", ".join(f"{t(f'evaluation.way_{name}')} {_share(rate)}" for name, rate in rates.items())
