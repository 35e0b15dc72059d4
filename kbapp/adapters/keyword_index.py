"""The L0 index in memory: entries to the matches of a query, best first.

The entries stand in two segments: a large one, and a small one of what changed since the large one was built, so that
one document more does not rebuild everything.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from kbapp.adapters.keyword_segment import Finder, KeywordSegment, set_bits
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import (
    FoundKeyword,
    KeywordHit,
    KeywordMatch,
    MatchRules,
    MatchTier,
    PreparedQuery,
    assess,
    can_be_partial,
    prepare_query,
    rank_of,
    weigh,
)

PARTIAL_LIMIT = 1_000
"""Of the keywords that the query is a part of, so many are looked at, the shortest first: nobody reads the rest."""

MIN_CHANGED = 32
"""So many changes at least are kept apart before the large segment is built anew."""

_Held = list[tuple[FoundKeyword, list[int]]]
"""The keywords that a query matches, with the numbers of the entries that hold them."""


class KeywordIndex:
    """Thread-safe: a lookup sees the entries before or after a change, never half of it, and never waits for one."""

    def __init__(self, rules: MatchRules) -> None:
        self._rules = rules
        self._writing = threading.Lock()
        self._snapshot = _fresh(())

    def __len__(self) -> int:
        return len(self._snapshot)

    def replace(self, entries: Iterable[KnowledgeEntry]) -> None:
        """Hold these entries and no others; of two with one path the later counts."""
        with self._writing:
            self._snapshot = _fresh({entry.path: entry for entry in entries}.values())

    def put(self, entry: KnowledgeEntry) -> None:
        """Add the entry, in place of the one with its path."""
        with self._writing:
            self._snapshot = _changed(self._snapshot, entry.path, entry)

    def remove(self, path: str) -> None:
        """Drop the entry with this path, if there is one."""
        with self._writing:
            self._snapshot = _changed(self._snapshot, path, None)

    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """All entries by path."""
        return tuple(self._snapshot.entries())

    def entry(self, path: str) -> KnowledgeEntry | None:
        """The entry with this path."""
        return self._snapshot.entry_at(path)

    def match(self, query: str) -> list[KeywordMatch]:
        """The entries that match in the best tier present, best first, ties by path (K4, K5)."""
        snapshot, prepared = self._snapshot, prepare_query(query)
        if not prepared.key:
            return []
        if exact := snapshot.held(KeywordSegment.exact, prepared):
            # A query that is nothing but a common keyword says nothing (K10), and its parts say even less.
            return self._matches(snapshot, prepared, MatchTier.EXACT, exact)
        contained = snapshot.held(KeywordSegment.contained, prepared)
        if matches := self._matches(snapshot, prepared, MatchTier.CONTAINED, contained):
            return matches
        if not can_be_partial(prepared.key):
            return []
        partial = snapshot.held(KeywordSegment.partial, prepared, limit=PARTIAL_LIMIT)
        return self._matches(snapshot, prepared, MatchTier.PARTIAL, partial)

    def _matches(self, snapshot: _Snapshot, query: PreparedQuery, tier: MatchTier, held: _Held) -> list[KeywordMatch]:
        weighed = _weighed(held, len(snapshot), self._rules)
        matches: list[KeywordMatch] = []
        # Many entries are matched by the same keywords: each such group is assessed once.
        for group, numbers in _groups([numbers for _, numbers in weighed]).items():
            if assessment := assess(query, [weighed[place][0] for place in set_bits(group)]):
                score, matched, coverage = assessment
                matches += [KeywordMatch(snapshot.numbered[n], tier, score, matched, coverage) for n in numbers]
        matches.sort(key=attrgetter("entry.path"))
        matches.sort(key=attrgetter("score"), reverse=True)
        return matches


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The entries of ``base`` but those in ``hidden``, and the entries of ``recent``; ``numbered`` has all three."""

    base: KeywordSegment
    hidden: frozenset[int]
    recent: KeywordSegment
    numbered: tuple[KnowledgeEntry, ...]

    def __len__(self) -> int:
        return len(self.base.entries) - len(self.hidden) + len(self.recent.entries)

    def entries(self) -> list[KnowledgeEntry]:
        kept = [entry for number, entry in enumerate(self.base.entries) if number not in self.hidden]
        return sorted([*kept, *self.recent.entries], key=lambda entry: entry.path)

    def entry_at(self, path: str) -> KnowledgeEntry | None:
        number = _number_of(path, self.recent.entries)
        if number is not None:
            return self.recent.entries[number]
        number = _number_of(path, self.base.entries)
        return None if number is None or number in self.hidden else self.base.entries[number]

    def held(self, find: Finder, query: PreparedQuery, limit: int | None = None) -> _Held:
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


def _fresh(entries: Iterable[KnowledgeEntry]) -> _Snapshot:
    return _joined(KeywordSegment(entries), frozenset(), KeywordSegment(()))


def _joined(base: KeywordSegment, hidden: frozenset[int], recent: KeywordSegment) -> _Snapshot:
    return _Snapshot(base, hidden, recent, base.entries + recent.entries)


def _changed(snapshot: _Snapshot, path: str, entry: KnowledgeEntry | None) -> _Snapshot:
    """The snapshot with this entry at the path; all in one segment again once the changes grow many.

    The limit is a square root, which balances what a change costs against what a new build costs now and then.
    """
    if snapshot.entry_at(path) == entry:
        return snapshot
    number = _number_of(path, snapshot.base.entries)
    hidden = snapshot.hidden if number is None else snapshot.hidden | {number}
    recent = [other for other in snapshot.recent.entries if other.path != path]
    changed = _joined(snapshot.base, hidden, KeywordSegment(recent if entry is None else [*recent, entry]))
    if len(hidden) + len(recent) > max(MIN_CHANGED, math.isqrt(len(changed))):
        return _fresh(changed.entries())
    return changed


def _number_of(path: str, entries: Sequence[KnowledgeEntry]) -> int | None:
    number = bisect_left(entries, path, key=lambda entry: entry.path)
    return number if number < len(entries) and entries[number].path == path else None


def _shortest_first(item: tuple[FoundKeyword, list[int]]) -> tuple[int, str, str]:
    found, _ = item
    return len(found.key), found.key, found.matched.keyword


def _weighed(held: _Held, entry_count: int, rules: MatchRules) -> list[tuple[KeywordHit, list[int]]]:
    """The hits by rank; a keyword is as frequent as all its matching spellings together."""
    frequency: Counter[tuple[str, bool]] = Counter()
    for found, numbers in held:
        frequency[found.key, found.matched.is_title] += len(numbers)
    weighed = [
        (weigh(found, frequency[found.key, found.matched.is_title], entry_count, rules), numbers)
        for found, numbers in held
    ]
    return sorted(weighed, key=lambda pair: rank_of(pair[0]))


def _groups(holders: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """The entries that have the same hits; bit ``i`` of a key says that they are in ``holders[i]``."""
    hits_of: dict[int, int] = {}
    for place, numbers in enumerate(holders):
        bit = 1 << place
        for number in numbers:
            hits_of[number] = hits_of.get(number, 0) | bit
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, hits in hits_of.items():
        groups[hits].append(number)
    return groups
