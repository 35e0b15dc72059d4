"""The entries of L0 at one moment, in two segments.

A large one, and a small one of what changed since the large one was built, so that one document more does not rebuild
everything.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kbapp.adapters.keyword_segment import Finder, KeywordSegment
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import FoundKeyword, PreparedQuery, can_be_partial

PARTIAL_LIMIT = 1_000
"""Of the keywords that the query is a part of, so many are looked at, the shortest first: nobody reads the rest."""

MIN_CHANGED = 32
"""So many changes at least are kept apart before the large segment is built anew."""

Held = list[tuple[FoundKeyword, list[int]]]
"""The keywords that a query matches, with the numbers of the entries that hold them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The entries of ``base`` but those in ``hidden``, and the entries of ``recent``; ``numbered`` has all three."""

    base: KeywordSegment
    hidden: frozenset[int]
    recent: KeywordSegment
    numbered: tuple[KnowledgeEntry, ...]

    def __len__(self) -> int:
        return len(self.base.entries) - len(self.hidden) + len(self.recent.entries)

    def entries(self) -> list[KnowledgeEntry]:
        """All entries by path."""
        kept = [entry for number, entry in enumerate(self.base.entries) if number not in self.hidden]
        return sorted([*kept, *self.recent.entries], key=lambda entry: entry.path)

    def entry_at(self, path: str) -> KnowledgeEntry | None:
        """The entry with this path."""
        number = _number_of(path, self.recent.entries)
        if number is not None:
            return self.recent.entries[number]
        number = _number_of(path, self.base.entries)
        return None if number is None or number in self.hidden else self.base.entries[number]

    def exact(self, query: PreparedQuery) -> Held:
        """The keywords and titles that are the query."""
        return self._held(KeywordSegment.exact, query)

    def contained(self, query: PreparedQuery) -> Held:
        """The keywords and titles that stand in the query."""
        return self._held(KeywordSegment.contained, query)

    def partial(self, query: PreparedQuery) -> Held:
        """The shortest keywords of which the query is a part."""
        return self._held(KeywordSegment.partial, query, limit=PARTIAL_LIMIT) if can_be_partial(query.key) else []

    def knows(self, word: str) -> bool:
        """Whether a keyword or title has this ASCII word (K6)."""
        return word in self.recent.words or self._base_knows(word)

    def nearest_words(self, term: str) -> list[str]:
        """The words that are most likely meant by a mistyped term (K6)."""
        found = {*self.recent.words.near(term)}
        found.update((edits, word) for edits, word in self.base.words.near(term) if self._base_knows(word))
        fewest = min(found)[0] if found else 0
        return sorted(word for edits, word in found if edits == fewest)

    def _base_knows(self, word: str) -> bool:
        if word not in self.base.words:
            return False
        return not self.hidden or any(not self.hidden.issuperset(held) for held in self.base.holders_of_word(word))

    def _held(self, find: Finder, query: PreparedQuery, limit: int | None = None) -> Held:
        """What ``find`` finds in both segments; with a limit only the shortest keywords."""
        old = list(islice(self._in_base(find, query), limit))
        new = list(islice(find(self.recent, query), limit)) if self.recent.entries else []
        if not new:
            return old
        first, held = len(self.base.entries), dict(old)
        for found, numbers in new:
            held.setdefault(found, []).extend(first + number for number in numbers)
        return sorted(held.items(), key=_shortest_first)[:limit]

    def _in_base(self, find: Finder, query: PreparedQuery) -> Iterator[tuple[FoundKeyword, list[int]]]:
        for found, numbers in find(self.base, query):
            visible = [number for number in numbers if number not in self.hidden] if self.hidden else numbers
            if visible:
                yield found, visible


def fresh(entries: Iterable[KnowledgeEntry]) -> Snapshot:
    """The snapshot of these entries, which have different paths."""
    return _joined(KeywordSegment(entries), frozenset(), KeywordSegment(()))


def changed(snapshot: Snapshot, path: str, entry: KnowledgeEntry | None) -> Snapshot:
    """The snapshot with this entry at the path; all in one segment again once the changes grow many.

    The limit is a square root, which balances what a change costs against what a new build costs now and then.
    """
    if snapshot.entry_at(path) == entry:
        return snapshot
    number = _number_of(path, snapshot.base.entries)
    hidden = snapshot.hidden if number is None else snapshot.hidden | {number}
    recent = [other for other in snapshot.recent.entries if other.path != path]
    result = _joined(snapshot.base, hidden, KeywordSegment(recent if entry is None else [*recent, entry]))
    if len(hidden) + len(recent) > max(MIN_CHANGED, math.isqrt(len(result))):
        return fresh(result.entries())
    return result


def _joined(base: KeywordSegment, hidden: frozenset[int], recent: KeywordSegment) -> Snapshot:
    return Snapshot(base, hidden, recent, base.entries + recent.entries)


def _number_of(path: str, entries: Sequence[KnowledgeEntry]) -> int | None:
    number = bisect_left(entries, path, key=lambda entry: entry.path)
    return number if number < len(entries) and entries[number].path == path else None


def _shortest_first(item: tuple[FoundKeyword, list[int]]) -> tuple[int, str, str]:
    found, _ = item
    return len(found.key), found.key, found.matched.keyword
