"""Unit vectors by id in one array: exact nearest neighbours by a matrix product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kbapp.adapters.embedders.checking import UNIT_LENGTH_TOLERANCE
from kbapp.domain.ports import VectorHit, Vectors

ROUNDING = 1e-5  # more than a product of two unit vectors in float32 can be off
LEAST_CAPACITY = 256


def are_unit(rows: Vectors) -> npt.NDArray[np.bool_]:
    """Which of the rows, ``(n, dimension)``, are finite and of length 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.vecdot(rows, rows))
    return np.asarray(np.abs(lengths - 1) <= UNIT_LENGTH_TOLERANCE)


@dataclass(frozen=True, slots=True)
class RowsView:
    """What ``UnitRows`` held at one moment; stays so whatever is added and removed afterwards."""

    vectors: Vectors
    ids: list[str]  # at least one per row; the rows behind are of a later moment
    removed: npt.NDArray[np.intp]

    def nearest(self, vector: Vectors, limit: int) -> list[VectorHit]:
        """At most ``limit`` rows nearest to ``vector``, nearest first, ties by id.

        The product finds them; the distances are those of the differences, as Milvus computes them.
        """
        similarities = np.vecdot(self.vectors, vector)  # one thread: those of BLAS wait for each other on busy cores
        similarities[self.removed] = -np.inf
        wanted = min(limit, len(similarities) - len(self.removed))
        if wanted < 1:
            return []
        last = np.partition(similarities, -wanted)[-wanted]
        places = np.flatnonzero(similarities >= last - ROUNDING)
        distances = np.sum((self.vectors[places] - vector) ** 2, axis=1)
        hits = [VectorHit(self.ids[place], float(distance)) for place, distance in zip(places, distances, strict=True)]
        return sorted(hits, key=lambda hit: (hit.distance, hit.chunk_id))[:wanted]


class UnitRows:
    """Grows in place; one writer at a time."""

    def __init__(self, dimension: int) -> None:
        self._vectors: Vectors = np.empty((LEAST_CAPACITY, dimension), dtype=np.float32)
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._removed: list[int] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Hold ``vectors``, ``(n, dimension)``, under ``n`` different ids, in place of those that are held already."""
        self.remove(ids)
        if len(self._ids) + len(ids) > len(self._vectors):
            self._move(2 * (len(self._places) + len(ids)))
        start = len(self._ids)
        self._vectors[start : start + len(ids)] = vectors
        self._ids += ids
        self._places.update(zip(ids, range(start, start + len(ids)), strict=True))

    def remove(self, ids: Iterable[str]) -> None:
        """Hold them no more; unknown ids are ignored."""
        places = [self._places.pop(chunk_id) for chunk_id in ids if chunk_id in self._places]
        self._removed += places
        if len(self._removed) > max(LEAST_CAPACITY, len(self._places)):
            self._move(2 * len(self._places))

    def distances(self, vector: Vectors, ids: Iterable[str]) -> dict[str, float]:
        """The squared L2 distances of those that are held."""
        places = {chunk_id: self._places[chunk_id] for chunk_id in ids if chunk_id in self._places}
        squared = np.sum((self._vectors[list(places.values())] - vector) ** 2, axis=1)
        return dict(zip(places, squared.tolist(), strict=True))

    def view(self) -> RowsView:
        """What is held now."""
        return RowsView(self._vectors[: len(self._ids)], self._ids, np.array(self._removed, dtype=np.intp))

    def _move(self, capacity: int) -> None:
        """What is held into arrays of its own: views keep the former ones."""
        places = list(self._places.values())
        vectors = np.empty((max(capacity, LEAST_CAPACITY), self._vectors.shape[1]), dtype=np.float32)
        np.take(self._vectors, places, axis=0, out=vectors[: len(places)])
        self._ids = list(self._places)
        self._places = {chunk_id: place for place, chunk_id in enumerate(self._ids)}
        self._vectors, self._removed = vectors, []
