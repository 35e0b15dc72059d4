"""Unit vectors in memory against a walk over all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kbapp.adapters.unit_rows import LEAST_CAPACITY, UnitRows
from kbapp.domain.ports import VectorHit, Vectors

DIMENSION = 6


def unit_vectors(count: int, seed: int) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def nearest_by_walking(held: dict[str, Vectors], vector: Vectors, limit: int) -> list[VectorHit]:
    hits = [VectorHit(chunk_id, float(np.sum((row - vector) ** 2))) for chunk_id, row in held.items()]
    return sorted(hits, key=lambda hit: (hit.distance, hit.chunk_id))[:limit]


Change = tuple[bool, list[int], int]
changes = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(0, 400), unique=True, max_size=120), st.integers(0, 5)), max_size=25
)


@given(changes, st.integers(1, 60))
def test_the_nearest_rows_are_those_of_a_walk_whatever_was_added_and_removed(steps: list[Change], limit: int) -> None:
    rows, held = UnitRows(DIMENSION), dict[str, Vectors]()
    query = unit_vectors(1, 99)[0]
    views = []
    for is_added, numbers, seed in steps:
        ids = [f"c{number}" for number in numbers]
        if is_added:
            vectors = unit_vectors(len(ids), seed)
            rows.add(ids, vectors)
            held |= dict(zip(ids, vectors, strict=True))
        else:
            rows.remove(ids)
            held = {chunk_id: row for chunk_id, row in held.items() if chunk_id not in ids}
        views.append((rows.view(), nearest_by_walking(held, query, limit)))
    assert len(rows) == len(held)
    for view, expected in views:
        assert view.nearest(query, limit) == expected


def test_rows_that_tie_come_by_id_also_at_the_last_place() -> None:
    rows = UnitRows(DIMENSION)
    same = unit_vectors(1, 0)
    ids = [f"c{number:03}" for number in range(300)]
    rows.add(list(reversed(ids)), np.repeat(same, 300, axis=0))
    assert [hit.chunk_id for hit in rows.view().nearest(same[0], 5)] == ids[:5]


def test_what_was_removed_leaves_no_room_behind() -> None:
    rows = UnitRows(DIMENSION)
    for round_ in range(50):
        rows.add([f"{round_}-{number}" for number in range(100)], unit_vectors(100, round_))
        rows.remove([f"{round_ - 1}-{number}" for number in range(100)])
    assert len(rows) == 100
    assert len(rows.view().vectors) <= 100 + 100 + LEAST_CAPACITY + 100


def test_no_rows_are_no_hits() -> None:
    assert UnitRows(DIMENSION).view().nearest(unit_vectors(1, 0)[0], 5) == []
