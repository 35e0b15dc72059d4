"""What the services need from the outside world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kbapp.domain.documents import StoredChunk

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns text into unit vectors. Thread-safe.

    Raises:
        IndexUnavailable: the model cannot be loaded or reached, or what it returned is not ``(n, dimension)`` finite
        unit rows. Never a zero or random vector in place of a failed one.
    """

    @property
    def model_id(self) -> str:
        """The value of ``embedding.model``, stored with the vectors: another id means other vectors."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """One chunk found by the vector index; ``distance`` is the squared L2 distance, 0 … 4 for unit vectors."""

    chunk_id: str
    distance: float


@dataclass(frozen=True, slots=True)
class FullTextHit:
    """One chunk found by full text; ``score`` is BM25, greater is better, comparable within one query only."""

    chunk_id: str
    score: float


class VectorIndex(Protocol):
    """L1: the vectors of the chunks. Thread-safe; every method may raise ``IndexUnavailable``."""

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        """At most ``limit`` chunks nearest to one query vector ``(dimension,)``, nearest first, ties by chunk id."""

    def write(self, chunks: Sequence[StoredChunk], vectors: Vectors) -> None:
        """Insert or replace chunks by id, with their metadata; durable when it returns."""

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove chunks by id; unknown ids are ignored."""

    def chunk_ids(self) -> set[str]:
        """The ids of all chunks held."""

    def close(self) -> None:
        """Release the engine."""
