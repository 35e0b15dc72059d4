"""What two legs found into one order, by document, the best section of each first (Q9).

A document is worth its best cosine, weighed, plus its best share of full text; each may come from another section.
That order was chosen by measurement (``benchmarks/quality.md``): rank fusion loses what a near-complete match of the
words says, which makes it worse for exact terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SPREAD_WEIGHT = 1 / 3
"""What the whole spread of a query's cosines is worth beside a full-text share of 1, for a model without a weight."""


@dataclass(frozen=True, slots=True)
class LegHit:
    """A chunk that one leg or both found, with its ranks there (from 1; None: not found).

    ``cosine``: of the query's and the chunk's vectors, whoever found it. ``text_share``: BM25 as a share of what a
    text would get that holds every term of the query many times, 0 … about 1.
    """

    chunk_id: str
    document: str
    cosine: float
    text_share: float
    vector_rank: int | None
    full_text_rank: int | None


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A chunk in the fused order with its ranks in each leg; ``leads_both``: its document is the first of both."""

    chunk_id: str
    vector_rank: int | None
    full_text_rank: int | None
    leads_both: bool = False


def fuse(hits: Sequence[LegHit], cosine_weight: float | None) -> list[FusedHit]:
    """The best section of each document, best document first, then the other sections by their own worth.

    ``cosine_weight``: what a cosine of 1 is worth beside a full-text share of 1, as the model's profile says; None:
    by the spread of these hits' cosines. Ties by name and id; keeps every hit.
    """
    weight = _spread_weight(hits) if cosine_weight is None else cosine_weight
    cosines, shares = _best_by_document(hits)
    leaders = _leader([hit.vector_rank for hit in hits], hits), _leader([hit.full_text_rank for hit in hits], hits)
    sections = sorted(hits, key=lambda hit: (-(weight * hit.cosine + hit.text_share), hit.chunk_id))
    documents = sorted(cosines, key=lambda document: (-(weight * cosines[document] + shares[document]), document))
    best: dict[str, LegHit] = {}
    for section in sections:
        best.setdefault(section.document, section)
    firsts = [best[document] for document in documents]
    rest = [section for section in sections if best[section.document] is not section]
    return [
        FusedHit(hit.chunk_id, hit.vector_rank, hit.full_text_rank, leaders == (hit.document, hit.document))
        for hit in (*firsts, *rest)
    ]


def _best_by_document(hits: Sequence[LegHit]) -> tuple[dict[str, float], dict[str, float]]:
    cosines: dict[str, float] = {}
    shares: dict[str, float] = {}
    for hit in hits:
        cosines[hit.document] = max(hit.cosine, cosines.get(hit.document, hit.cosine))
        shares[hit.document] = max(hit.text_share, shares.get(hit.document, 0.0))
    return cosines, shares


def _spread_weight(hits: Sequence[LegHit]) -> float:
    cosines = [hit.cosine for hit in hits]
    spread = max(cosines) - min(cosines) if cosines else 0.0
    return SPREAD_WEIGHT / spread if spread > 0 else 1.0


def _leader(ranks: Sequence[int | None], hits: Sequence[LegHit]) -> str | None:
    """The document of the hit that ranks first in a leg."""
    ranked = [(rank, hit.document) for rank, hit in zip(ranks, hits, strict=True) if rank is not None]
    return min(ranked)[1] if ranked else None
