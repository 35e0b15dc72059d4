"""Ranked lists of chunks into one (Q9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RRF_K = 60  # Cormack, Clarke & Buettcher, SIGIR 2009


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A chunk with the ranks (from 1) that it had in each leg; the fused score orders, it is never a relevance."""

    chunk_id: str
    score: float
    vector_rank: int | None
    full_text_rank: int | None


def fuse_by_rank(vector_ids: Sequence[str], full_text_ids: Sequence[str], *, k: int = RRF_K) -> list[FusedHit]:
    """Reciprocal rank fusion: ``score(d) = Σ 1 / (k + rank_leg(d))``; best first, ties by id. Keeps every id."""
    vector_ranks = {chunk_id: rank for rank, chunk_id in reversed(list(enumerate(vector_ids, 1)))}
    text_ranks = {chunk_id: rank for rank, chunk_id in reversed(list(enumerate(full_text_ids, 1)))}
    hits = [
        FusedHit(
            chunk_id,
            sum(1 / (k + ranks[chunk_id]) for ranks in (vector_ranks, text_ranks) if chunk_id in ranks),
            vector_ranks.get(chunk_id),
            text_ranks.get(chunk_id),
        )
        for chunk_id in vector_ranks.keys() | text_ranks.keys()
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
