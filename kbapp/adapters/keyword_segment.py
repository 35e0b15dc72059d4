"""An immutable L0 index of some entries: which of their keywords and titles a query matches, and who holds them.

A *term* is a keyword or a title in one spelling, its *key* is what all spellings have in common. What can stand in flat
arrays does, since objects would take several times the memory.

Keywords are looked for in a query by hashing: at each place the next two characters say which lengths are worth a look.
Aho-Corasick (ahocorasick_rs) is faster by some microseconds and takes more memory, a second per 200,000 keywords to build,
and the interpreter's lock all that time, which would stop every lookup.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import (
    FoundKeyword,
    MatchedKeyword,
    MatchTier,
    PreparedQuery,
    can_be_contained,
    keys_of,
)
from kbapp.domain.keyword_text import camel_cuts, is_word_edge, normal_text

Found = Iterator[tuple[FoundKeyword, Sequence[int]]]
"""Keywords with the numbers of the entries that hold them."""

Finder = Callable[["KeywordSegment", PreparedQuery], Found]


class KeywordSegment:
    """The entries, numbered by path, and their terms. Immutable, hence thread-safe.

    Keyword terms come first, the shortest keys first, so that a search for a part of a keyword meets the nearest ones
    first and skips those that are shorter than the query.
    """

    def __init__(self, entries: Iterable[KnowledgeEntry]) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: entry.path))
        keywords = _terms(self.entries, lambda entry: entry.keywords)
        titles = _terms(self.entries, lambda entry: (entry.title,))
        keyword_terms = sorted(keywords, key=lambda term: (len(term[0]), term))
        terms = [*keyword_terms, *sorted(titles)]
        self._spellings = [spelling for _, spelling in terms]
        self._first_title = len(keywords)
        self._holders = _Rows([*(keywords[term] for term in keyword_terms), *(titles[term] for term in sorted(titles))])
        # Every key ends with a line end, which no key and no query in normal form holds.
        self._keys = "".join([f"{key}\n" for key, _ in terms])
        self._starts = array("I", _offsets(len(key) + 1 for key, _ in terms))
        self._camel_cuts = array("I", _absolute_cuts(self._spellings[: self._first_title], self._starts))
        patterns = _patterns(terms)
        self._terms_of_pattern = _Rows(patterns.values())
        self._patterns = {pattern: number for number, pattern in enumerate(patterns)}
        self._lengths = _lengths_by_prefix(patterns)

    def exact(self, query: PreparedQuery) -> Found:
        """The terms that are the query."""
        for term in self._terms_of(query.key):
            yield self._found(term, MatchTier.EXACT, len(query.key), query.letters)

    def contained(self, query: PreparedQuery) -> Found:
        """The terms that stand in the query, from word edge to word edge."""
        covered: dict[int, int] = {}
        for start, end in self._places(query.text):
            place = ((1 << (end - start)) - 1) << start
            for term in self._terms_of(query.text[start:end]):
                covered[term] = covered.get(term, 0) | place
        for term, places in covered.items():
            key = self._key(term)
            if can_be_contained(key, is_title=term >= self._first_title):
                yield self._found(term, MatchTier.CONTAINED, len(key), places & query.letters)

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where a pattern may stand, from word edge to word edge."""
        for start in range(len(text)):
            lengths = self._lengths.get(text[start : start + PREFIX])
            if lengths and is_word_edge(text, start):
                for length in lengths:
                    if start + length <= len(text) and is_word_edge(text, start + length):
                        yield start, start + length

    def _terms_of(self, pattern: str) -> Sequence[int]:
        number = self._patterns.get(pattern)
        return () if number is None else self._terms_of_pattern[number]

    def partial(self, query: PreparedQuery) -> Found:
        """The keywords of which the query is a part, from word-part edge to word-part edge; the shortest first."""
        length, stop = len(query.key), self._starts[self._first_title]
        position = self._starts[bisect_left(range(self._first_title), length, key=lambda term: len(self._key(term)))]
        while (position := self._keys.find(query.key, position, stop)) >= 0:
            if self._is_part_edge(position) and self._is_part_edge(position + length):
                term = bisect_right(self._starts, position) - 1
                yield self._found(term, MatchTier.PARTIAL, length, query.letters)
                position = self._starts[term + 1]
            else:
                position += 1

    def _found(self, term: int, tier: MatchTier, length: int, covered: int) -> tuple[FoundKeyword, Sequence[int]]:
        matched = MatchedKeyword(self._spellings[term], tier, term >= self._first_title)
        return FoundKeyword(matched, self._key(term), length, covered), self._holders[term]

    def _key(self, term: int) -> str:
        return self._keys[self._starts[term] : self._starts[term + 1] - 1]

    def _is_part_edge(self, position: int) -> bool:
        if is_word_edge(self._keys, position):
            return True
        nearest = bisect_left(self._camel_cuts, position)
        return nearest < len(self._camel_cuts) and self._camel_cuts[nearest] == position


class _Rows:
    """Rows of numbers, of any length, in two arrays."""

    def __init__(self, rows: Iterable[Sequence[int]]) -> None:
        rows = list(rows)
        self._starts = array("I", _offsets(map(len, rows)))
        self._numbers = array("I", [number for row in rows for number in row])

    def __getitem__(self, row: int) -> Sequence[int]:
        return self._numbers[self._starts[row] : self._starts[row + 1]]


def _terms(
    entries: Sequence[KnowledgeEntry], texts: Callable[[KnowledgeEntry], Iterable[str]]
) -> dict[tuple[str, str], list[int]]:
    """(key, spelling) of every term, with the numbers of the entries that hold it."""
    holders: dict[tuple[str, str], list[int]] = {}
    for number, entry in enumerate(entries):
        for term in keys_of(texts(entry)).items():
            holders.setdefault(term, []).append(number)
    return holders


def _patterns(terms: Sequence[tuple[str, str]]) -> dict[str, list[int]]:
    """What is looked for in a query, with the terms it stands for: the keys, and spellings with spaces within CJK."""
    patterns: dict[str, list[int]] = {}
    for number, (key, spelling) in enumerate(terms):
        patterns.setdefault(key, []).append(number)
        if " " in spelling and (spaced := normal_text(spelling)) != key:
            patterns.setdefault(spaced, []).append(number)
    return patterns


def _lengths_by_prefix(patterns: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """The lengths of the patterns that begin with the same characters, the shortest first."""
    lengths: dict[str, int] = {}
    for pattern in patterns:
        prefix = pattern[:PREFIX]
        lengths[prefix] = lengths.get(prefix, 0) | 1 << len(pattern)
    tuples: dict[int, tuple[int, ...]] = {}
    for prefix, bits in lengths.items():
        ...


def _offsets(lengths: Iterable[int]) -> list[int]:
    return [0, *accumulate(lengths)]


def _absolute_cuts(keywords: Sequence[str], starts: Sequence[int]) -> Iterator[int]:
    for keyword, start in zip(keywords, starts, strict=False):
        for cut in camel_cuts(keyword):
            yield start + cut
