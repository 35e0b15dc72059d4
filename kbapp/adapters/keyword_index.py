"""The L0 index in memory: entries to the matches of a query, best first."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from kbapp.adapters.keyword_guesses import SynonymGroups, find_mistyped
from kbapp.adapters.keyword_segment import set_bits
from kbapp.adapters.keyword_snapshot import Held, Snapshot, changed, fresh
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import (
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
        matches: list[KeywordMatch] = []
        # Many entries are matched by the same keywords: each such group is assessed once.
        for group, numbers in _groups([numbers for _, numbers in weighed]).items():
            if assessment := assess(query, [weighed[place][0] for place in set_bits(group)]):
                score, matched, coverage = assessment
                matches += [KeywordMatch(snapshot.numbered[n], tier, score, matched, coverage) for n in numbers]
        matches.sort(key=attrgetter("entry.path"))
        matches.sort(key=attrgetter("score"), reverse=True)
        return matches


def _weighed(held: Held, entry_count: int, rules: MatchRules) -> list[tuple[KeywordHit, list[int]]]:
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
