"""The L0 index in memory: entries to the matches of a query, best first."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter

from kbapp.adapters.keyword_guesses import SynonymGroups, find_mistyped
from kbapp.adapters.keyword_snapshot import Held, Snapshot, changed, fresh
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import (
    Assessment,
    KeywordHit,
    KeywordMatch,
    MatchRules,
    MatchTier,
    PreparedQuery,
    assess,
    prepare_query,
    rank_of,
    weigh,
)

_Assessed = tuple[Assessment, list[int]]
"""What the same hits of some entries amount to, with the numbers of the entries."""

# A lookup may make thousands of matches, and the constructor of a named tuple takes twice as long.
_new_match = partial(tuple.__new__, KeywordMatch)


class KeywordIndex:
    """Thread-safe: a lookup sees the entries before or after a change, never half of it, and never waits for one."""

    def __init__(self, rules: MatchRules) -> None:
        self._rules = rules
        self._writing = threading.Lock()
        self._snapshot = fresh(())
        self._synonyms = SynonymGroups(())

    def __len__(self) -> int:
        return len(self._snapshot)

    def replace(self, entries: Iterable[KnowledgeEntry]) -> None:
        """Hold these entries and no others; of two with one path the later counts."""
        with self._writing:
            self._snapshot = fresh({entry.path: entry for entry in entries}.values())

    def put(self, entry: KnowledgeEntry) -> None:
        """Add the entry, in place of the one with its path."""
        with self._writing:
            self._snapshot = changed(self._snapshot, entry.path, entry)

    def remove(self, path: str) -> None:
        """Drop the entry with this path, if there is one."""
        with self._writing:
            self._snapshot = changed(self._snapshot, path, None)

    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """All entries by path."""
        return tuple(self._snapshot.entries())

    def entry(self, path: str) -> KnowledgeEntry | None:
        """The entry with this path."""
        return self._snapshot.entry_at(path)

    def use_synonyms(self, groups: Iterable[Sequence[str]]) -> None:
        """Take the terms of each group to mean the same (K6), in place of the groups before."""
        self._synonyms = SynonymGroups(groups)

    def match(self, query: str) -> list[KeywordMatch]:
        """The entries that match in the best tier present, best first, ties by path (K4, K5)."""
        snapshot, prepared = self._snapshot, prepare_query(query)
        if not prepared.key:
            return []
        if exact := snapshot.exact(prepared):
            # A query that is nothing but a common keyword says nothing (K10), and its parts say even less.
            return self._matches(snapshot, prepared, MatchTier.EXACT, exact)
        for tier, held in self._lower_tiers(snapshot, prepared):
            if matches := self._matches(snapshot, prepared, tier, held):
                return matches
        return []

    def _lower_tiers(self, snapshot: Snapshot, query: PreparedQuery) -> Iterator[tuple[MatchTier, Held]]:
        synonyms = self._synonyms
        yield MatchTier.CONTAINED, snapshot.contained(query)
        yield MatchTier.PARTIAL, snapshot.partial(query)
        yield MatchTier.SYNONYM, synonyms.find(snapshot, query)
        yield MatchTier.TYPO, find_mistyped(snapshot, synonyms, query)

    def _matches(self, snapshot: Snapshot, query: PreparedQuery, tier: MatchTier, held: Held) -> list[KeywordMatch]:
        weighed = _weighed(held, len(snapshot), self._rules)
        by_score: defaultdict[float, list[_Assessed]] = defaultdict(list)
        # Many entries are matched by the same keywords: each such group is assessed once.
        for places, numbers in _groups([numbers for _, numbers in weighed]):
            if assessment := assess(query, [weighed[place][0] for place in places]):
                by_score[assessment.score].append((assessment, numbers))
        matches: list[KeywordMatch] = []
        for score in sorted(by_score, reverse=True):
            matches += _by_path(snapshot, tier, by_score[score])
        return matches


def _by_path(snapshot: Snapshot, tier: MatchTier, groups: Sequence[_Assessed]) -> list[KeywordMatch]:
    """The matches of these groups, which have one score."""
    entries = snapshot.numbered
    matches = [
        _new_match((entries[number], tier, score, matched, coverage))
        for (score, matched, coverage), numbers in groups
        for number in numbers
    ]
    # The numbers of a group ascend, and so do the paths within a segment.
    if len(groups) > 1 or snapshot.recent.entries:
        matches.sort(key=attrgetter("entry.path"))
    return matches


def _weighed(held: Held, entry_count: int, rules: MatchRules) -> list[tuple[KeywordHit, list[int]]]:
    """The hits by rank; a keyword is as frequent as all its matching spellings together."""
    frequency: dict[tuple[str, bool], int] = {}
    for (matched, key, _, _), numbers in held:
        term = key, matched.is_title
        frequency[term] = frequency.get(term, 0) + len(numbers)
    weighed = [
        (weigh(found, frequency[found.key, found.matched.is_title], entry_count, rules), numbers)
        for found, numbers in held
    ]
    return sorted(weighed, key=lambda pair: rank_of(pair[0]))


def _groups(holders: Sequence[list[int]]) -> Iterator[tuple[Sequence[int], list[int]]]:
    """Each set of places in ``holders`` with the numbers that stand in these and no others, ascending as they do."""
    seen: set[int] = set()
    repeated: set[int] = set()
    for numbers in holders:
        repeated.update(seen.intersection(numbers))
        seen.update(numbers)
    places_of: dict[int, tuple[int, ...]] = dict.fromkeys(sorted(repeated), ())
    for place, numbers in enumerate(holders):
        if repeated.isdisjoint(numbers):
            yield (place,), numbers
            continue
        if alone := [number for number in numbers if number not in repeated]:
            yield (place,), alone
        for number in repeated.intersection(numbers):
            places_of[number] += (place,)
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, places in places_of.items():
        groups[places].append(number)
    yield from groups.items()
