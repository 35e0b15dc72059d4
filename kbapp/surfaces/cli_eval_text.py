"""An evaluation for people: tables in which every rate has its counts and its 95 % interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kbapp.domain.labelled_queries import Kind
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.retrieval_metrics import ListFigures, Mean, Rate
from kbapp.service.evaluation import QueryOutcome
from kbapp.service.evaluation_report import (
    LEVELS,
    EvaluationReport,
    GivenFigures,
    Groups,
    HighlyOrBetter,
    OffTopicFigures,
    level_name,
)

_LIST_HEADER = ("queries", "R@1", "R@3", "R@5", "MRR@10", "nDCG@10", "documents in top 5")
_LEG_NAMES = {"l0": "L0", "vectors": "vectors", "full_text": "full text", "substring": "substring", "bm25": "BM25"}

Row = Sequence[str]


def evaluation_text(report: EvaluationReport, outcomes: Sequence[QueryOutcome]) -> str:
    """All figures, and which queries were not answered with a right document."""
    lists = {"ranking": report.ranking, **report.legs, **report.baselines}
    blocks = [
        ["what lookup gives; levels: right of the answers at each", *table(_given_rows(report.given))],
        ["the ranking behind it", *table(_ranking_rows(report.ranking))],
        ["the ranking, each leg alone, baselines", *table(_list_rows(lists, None))],
        ["the same, paraphrases alone", *table(_list_rows(lists, Kind.PARAPHRASE))],
        ["levels", *table(_level_rows(report))],
        ["off-topic queries", *table(_off_topic_rows(report))],
        _highly_lines(report.in_topic_highly_or_better),
        [_latency(report.latency_ms.get("p50"), report.latency_ms.get("p95"))],
        list(_missed(outcomes)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _given_rows(groups: Groups[GivenFigures]) -> Iterator[Row]:
    yield ("", "queries", "right document first", "answer in the text", "right heading", *map(level_name, LEVELS))
    for name, figures in groups.named():
        levels = [f"{rate.count}/{rate.of}" if level else str(rate.of) for level, rate in figures.levels.items()]
        documents = figures.documents
        yield (
            " ".join(name.split()),
            str(documents.queries),
            rate_text(documents.recall[1]),
            rate_text(figures.evidence),
            rate_text(figures.heading),
            *levels,
        )


def _ranking_rows(groups: Groups[ListFigures]) -> Iterator[Row]:
    yield ("", *_LIST_HEADER)
    for name, figures in groups.named():
        yield (" ".join(name.split()), *_list_cells(figures))


def _list_rows(lists: dict[str, Groups[ListFigures]], kind: Kind | None) -> Iterator[Row]:
    yield ("", *_LIST_HEADER)
    for name, groups in lists.items():
        figures = groups.kinds.get(kind) if kind else groups.overall
        if figures:
            yield (_LEG_NAMES.get(name, name), *_list_cells(figures))


def _level_rows(report: EvaluationReport) -> Iterator[Row]:
    yield ("", "right", "right of those in topic")
    for level in LEVELS:
        in_topic = rate_text(report.levels_in_topic[level]) if level else "–"
        yield (level_name(level), rate_text(report.levels[level]), in_topic)


def _off_topic_rows(report: EvaluationReport) -> Iterator[Row]:
    yield ("", "queries", *map(level_name, LEVELS))
    for name, figures in (("without traps", report.offtopic), ("traps", report.traps)):
        yield (name, *_off_topic_cells(figures))


def _off_topic_cells(figures: OffTopicFigures) -> list[str]:
    return [str(figures.queries), *(rate_text(figures.levels[level]) for level in LEVELS)]


def _highly_lines(rates: HighlyOrBetter) -> list[str]:
    return [
        f"in topic, right at {RelevanceLevel.HIGHLY_RELEVANT.value} or better: {rate_text(rates.all)}",
        f"  without paraphrases {rate_text(rates.without_paraphrase)}, paraphrases {rate_text(rates.paraphrase)}",
    ]


def _latency(p50: float | None, p95: float | None) -> str:
    return "no lookup was timed" if p50 is None or p95 is None else f"a lookup: p50 {p50:.0f} ms, p95 {p95:.0f} ms"


def _missed(outcomes: Iterable[QueryOutcome]) -> Iterator[str]:
    missed: dict[Kind, list[str]] = {}
    for outcome in outcomes:
        if outcome.is_in_topic and not outcome.is_right:
            missed.setdefault(outcome.label.kind, []).append(" ".join(outcome.label.id.split()))
    for kind, ids in missed.items():
        yield f"no right document first, {kind.value}: {', '.join(ids)}"


def _list_cells(figures: ListFigures) -> list[str]:
    return [
        str(figures.queries),
        *map(rate_text, figures.recall.values()),
        _mean(figures.mrr),
        _mean(figures.ndcg),
        _mean(figures.distinct_documents),
    ]


def rate_text(rate: Rate) -> str:
    """Counts, rate and interval; a dash when there was nothing to count."""
    value, interval = rate.value, rate.interval
    if value is None or interval is None:
        return "–"
    return f"{rate.count}/{rate.of} {value:.2f} ({interval[0]:.2f}–{interval[1]:.2f})"


def _mean(mean: Mean) -> str:
    if mean.value is None:
        return "–"
    return f"{mean.value:.2f}" + (f" ({mean.interval[0]:.2f}–{mean.interval[1]:.2f})" if mean.interval else "")


def table(rows: Iterable[Row]) -> list[str]:
    """Aligned lines of a table, the first column to the left."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
