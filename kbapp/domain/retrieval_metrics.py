"""Ranked documents and right answers into figures, each with its counts and a 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue

Z = 1.959964  # of the normal distribution, two-sided 95 %
DEPTH = 10  # of MRR and nDCG
TOP = 5  # among which distinct documents are counted


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` of ``of``."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """0 … 1; None when there was nothing to count."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's, 95 %; None when there was nothing to count."""
        return wilson_interval(self.count / self.of, self.of) if self.of else None

    def to_dict(self) -> dict[str, JsonValue]:
        """The rate as JSON."""
        return {
            "count": self.count,
            "of": self.of,
            "rate": _rounded(self.value),
            "interval": _rounded_interval(self.interval),
        }


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """The 95 % score interval of a share of ``count`` (Wilson 1927): sound for few queries, and near 0 and 1."""
    squared = Z * Z / count
    centre = (share + squared / 2) / (1 + squared)
    half = math.sqrt(max(share * (1 - share), 0.0) * squared + squared * squared / 4) / (1 + squared)
    return max(0.0, centre - half), min(1.0, centre + half)


def rate_of(answers: Collection[bool]) -> Rate:
    """How many of the answers are yes."""
    return Rate(sum(answers), len(answers))


@dataclass(frozen=True, slots=True)
class Mean:
    """Values from 0 to ``most``, one per query, as their mean."""

    values: tuple[float, ...]
    most: float = 1.0

    @property
    def value(self) -> float | None:
        """None when there are no values."""
        return math.fsum(self.values) / len(self.values) if self.values else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's, 95 %, on the safe side: bounded values vary no more than yes and no with the same mean."""
        if self.value is None:
            return None
        low, high = wilson_interval(self.value / self.most, len(self.values))
        return low * self.most, high * self.most

    def to_dict(self) -> dict[str, JsonValue]:
        """The mean as JSON."""
        return {
            "mean": _rounded(self.value),
            "queries": len(self.values),
            "interval": _rounded_interval(self.interval),
        }


@dataclass(frozen=True, slots=True)
class RankedAnswer:
    """What one query brought, best first: the document of each hit; ``relevant``: the documents that answer it."""

    hits: tuple[str, ...]
    relevant: tuple[str, ...]

    @property
    def documents(self) -> tuple[str, ...]:
        """Each document once, at the place of its best hit."""
        return tuple(dict.fromkeys(self.hits))


@dataclass(frozen=True, slots=True)
class ListFigures:
    """The figures of many ranked answers; found is a query of which any relevant document is."""

    recall: dict[int, Rate]
    mrr: Mean
    ndcg: Mean
    distinct_documents: Mean

    @property
    def queries(self) -> int:
        """How many answers these are."""
        return len(self.mrr.values)

    def to_dict(self) -> dict[str, JsonValue]:
        """The figures as JSON."""
        return {
            "queries": self.queries,
            **{f"recall@{k}": rate.to_dict() for k, rate in self.recall.items()},
            f"mrr@{DEPTH}": self.mrr.to_dict(),
            f"ndcg@{DEPTH}": self.ndcg.to_dict(),
            f"distinct_documents@{TOP}": self.distinct_documents.to_dict(),
        }


def list_figures(answers: Sequence[RankedAnswer]) -> ListFigures:
    """The figures of these answers."""
    return ListFigures(
        recall={k: rate_of([is_found(each.documents, each.relevant, k) for each in answers]) for k in (1, 3, 5)},
        mrr=Mean(tuple(reciprocal_rank(each.documents, each.relevant) for each in answers)),
        ndcg=Mean(tuple(ndcg(each.documents, each.relevant) for each in answers)),
        distinct_documents=Mean(tuple(float(len(set(each.hits[:TOP]))) for each in answers), most=TOP),
    )


def is_found(documents: Sequence[str], relevant: Collection[str], k: int) -> bool:
    """Whether any relevant document is among the first ``k``."""
    return not set(relevant).isdisjoint(documents[:k])


def reciprocal_rank(documents: Sequence[str], relevant: Collection[str], depth: int = DEPTH) -> float:
    """1 / rank of the first relevant document; 0 when none is among the first ``depth``."""
    ranks = (rank for rank, document in enumerate(documents[:depth], 1) if document in relevant)
    return 1 / next(ranks, math.inf)


def ndcg(documents: Sequence[str], relevant: Collection[str], depth: int = DEPTH) -> float:
    """``Σ 1/log₂(1 + rank)`` over the relevant among distinct documents, by what all of them in front would give.

    Järvelin & Kekäläinen 2002, with gains of 0 and 1.
    """
    gained = math.fsum(_gain(rank) for rank, document in enumerate(documents[:depth], 1) if document in relevant)
    ideal = math.fsum(_gain(rank) for rank in range(1, min(len(set(relevant)), depth) + 1))
    return gained / ideal if ideal else 0.0


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share (0 … 1) of the values do not exceed; None of no values."""
    if not values:
        return None
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def _gain(rank: int) -> float:
    return 1 / math.log2(1 + rank)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _rounded_interval(interval: tuple[float, float] | None) -> JsonValue:
    return None if interval is None else [round(bound, 4) for bound in interval]
