"""What each token adds to the BM25 score of a chunk, as FTS5 computes it; kept in memory for later queries.

A score of FTS5's ``bm25`` is the sum of what its terms add, in their order, so that these parts give the same number to
the last bit. FTS5 computes the parts of all terms for every row that holds any of them, which takes most of a lookup in
a large knowledge base; the frequent tokens that cost the most are those that come again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

MAX_POSTINGS = 2_000_000
"""Rows of all tokens together that are kept, of 16 bytes each."""


class Postings(NamedTuple):
    """The rows of ``chunk_fts`` that hold a token, and what it adds to the score of each: both ``(n,)``."""

    rows: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]


class TermScores:
    """Thread-safe. What is kept is dropped as soon as any chunk has changed: rarity and lengths have then as well."""

    def __init__(self, max_postings: int = MAX_POSTINGS) -> None:
        self._max_postings = max_postings
        self._lock = threading.Lock()
        self._change = -1
        self._kept: OrderedDict[str, Postings] = OrderedDict()
        self._size = 0

    def of(self, connection: sqlite3.Connection, tokens: Sequence[str]) -> list[Postings]:
        """Of each token; all as of one moment, unless a chunk changes meanwhile."""
        change = _last_change(connection)
        with self._lock:
            if change != self._change:
                self._kept.clear()
                self._change, self._size = change, 0
            known = {token: self._kept[token] for token in tokens if token in self._kept}
            for token in known:
                self._kept.move_to_end(token)
        new = {token: _read(connection, token) for token in tokens if token not in known}
        if new and _last_change(connection) == change:
            self._keep(change, new)
        return [known.get(token) or new[token] for token in tokens]

    def _keep(self, change: int, new: dict[str, Postings]) -> None:
        with self._lock:
            if change != self._change:
                return
            for token, postings in new.items():
                if token not in self._kept:
                    self._kept[token] = postings
                    self._size += len(postings.rows)
            while self._size > self._max_postings:
                _, dropped = self._kept.popitem(last=False)
                self._size -= len(dropped.rows)


def best_rows(postings: Sequence[Postings], limit: int) -> list[tuple[int, float]]:
    """The rows with the ``limit`` best scores, and those that tie with the last of them, in any order."""
    rows = np.concatenate([each.rows for each in postings])
    if not len(rows):
        return []
    totals = np.zeros(int(rows.max()) + 1)
    for each in postings:
        totals[each.rows] += each.scores
    # A row stands there once for each token that it holds.
    wanted = min(limit * len(postings), len(rows))
    found = np.unique(rows[np.argpartition(totals[rows], -wanted)[-wanted:]])
    place = min(limit, len(found))
    last = np.partition(totals[found], -place)[-place]
    found = np.unique(rows[totals[rows] >= last])
    return list(zip(found.tolist(), totals[found].tolist(), strict=True))


def _last_change(connection: sqlite3.Connection) -> int:
    number = connection.execute("SELECT max(number) FROM chunk_change").fetchone()[0]
    return int(number or 0)


def _read(connection: sqlite3.Connection, token: str) -> Postings:
    cursor = connection.cursor()
    cursor.row_factory = None
    found = cursor.execute(
        "SELECT rowid, -bm25(chunk_fts) FROM chunk_fts WHERE chunk_fts MATCH ?", (f'"{token}"',)
    ).fetchall()
    columns = list(zip(*found, strict=True)) or [(), ()]
    return Postings(np.array(columns[0], dtype=np.int64), np.array(columns[1], dtype=np.float64))
