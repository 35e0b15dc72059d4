"""What a query may mean where its own words match nothing: by synonyms, and by the words next to mistyped ones (K6).

A guess finds what the right words would find, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kbapp.adapters.keyword_segment import KeywordSegment
from kbapp.adapters.keyword_snapshot import Held, Snapshot
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import FoundKeyword, MatchTier, PreparedQuery, prepare_query
from kbapp.domain.keyword_text import match_key
from kbapp.domain.typos import Terms, compounds_in, words_in

TERM_LIMIT = 8
"""So many unknown terms of a query are looked at: a pasted log is full of names that nobody mistyped."""

CORRECTION_LIMIT = 8
"""So many corrections of a query are looked for."""


class SynonymGroups:
    """Groups of terms that mean the same. Immutable, hence thread-safe."""

    def __init__(self, groups: Iterable[Sequence[str]]) -> None:
        # As if each group were a document, so that its terms stand in a query by the rules for keywords.
        self._terms = KeywordSegment(
            KnowledgeEntry(f"{number:06}", "", tuple(group), None) for number, group in enumerate(groups)
        )

    def knows(self, word: str) -> bool:
        """Whether a term has this ASCII word."""
        return word in self._terms.words

    def find(self, snapshot: Snapshot, query: PreparedQuery) -> Held:
        """The keywords and titles that are, or stand in, a synonym of a term in the query."""
        found = _Found()
        for term, numbers in (*self._terms.exact(query), *self._terms.contained(query)):
            others = {
                other
                for number in numbers
                for other in self._terms.entries[number].keywords
                if match_key(other) != term.key
            }
            for other in sorted(others):
                meant = prepare_query(other)
                for keyword, holders in (*snapshot.exact(meant), *snapshot.contained(meant)):
                    whole = keyword._replace(length=len(keyword.key), covered=term.covered)
                    found.add(whole, holders, MatchTier.SYNONYM, term.matched.keyword)
        return found.held()


class _Correction(NamedTuple):
    """The word in place of the mistyped term between ``start`` and ``end``."""

    start: int
    end: int
    word: str


def find_mistyped(snapshot: Snapshot, synonyms: SynonymGroups, query: PreparedQuery) -> Held:
    """The keywords and titles that the query would match if one of its unknown terms were a known one.

    First its words, then compounds such as ``err_timeout``, for the sake of their short words and their signs.
    """
    for terms_in in (words_in, compounds_in):
        found = _Found()
        for correction in islice(_corrections(snapshot, synonyms, query.text, terms_in), CORRECTION_LIMIT):
            _find_corrected(snapshot, query, correction, found)
        if held := found.held():
            return held
    return []


def _find_corrected(snapshot: Snapshot, query: PreparedQuery, correction: _Correction, found: _Found) -> None:
    start, end, word = correction
    right = prepare_query(query.text[:start] + word + query.text[end:])
    written = _written(query.text, start, end)
    for keyword, holders in snapshot.exact(right) or snapshot.contained(right) or snapshot.partial(right):
        covered = _covered_by(keyword.covered, correction)
        if covered >> start & 1:
            brought = keyword._replace(covered=covered & query.letters)
            found.add(brought, holders, MatchTier.TYPO, written)


def _written(text: str, start: int, end: int) -> str:
    """The term there, as part of the compound that a person reads."""
    around = (text[first:last] for first, last in compounds_in(text) if first <= start and end <= last)
    return next(around, text[start:end])


def _corrections(
    snapshot: Snapshot, synonyms: SynonymGroups, text: str, terms_in: Callable[[str], Terms]
) -> Iterator[_Correction]:
    """For each unknown term the words nearest to it."""
    terms = ((start, end, text[start:end]) for start, end in terms_in(text))
    unknown = (term for term in terms if not (snapshot.knows(term[2]) or synonyms.knows(term[2])))
    for start, end, term in islice(unknown, TERM_LIMIT):
        for word in snapshot.nearest_words(term):
            yield _Correction(start, end, word)


def _covered_by(covered: int, correction: _Correction) -> int:
    """The bits of the query, from those of the corrected one; a term counts as a whole."""
    start, end, word = correction
    before = covered & ((1 << start) - 1)
    within = covered >> start & ((1 << len(word)) - 1)
    place = (1 << end) - (1 << start) if within else 0
    return before | place | covered >> (start + len(word)) << end


class _Found:
    """Collects what is found, each keyword once; for one use."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, bool], tuple[FoundKeyword, list[int]]] = {}

    def add(self, found: FoundKeyword, holders: list[int], tier: MatchTier, word: str) -> None:
        """Keep a keyword that the query matches in this tier by this word."""
        matched = found.matched._replace(tier=tier, word=word)
        key = (matched.keyword, matched.is_title)
        known = self._held.get(key)
        if known:
            matched, found = known[0].matched, found._replace(covered=found.covered | known[0].covered)
        self._held[key] = found._replace(matched=matched), holders

    def held(self) -> Held:
        """What was found."""
        return list(self._held.values())
