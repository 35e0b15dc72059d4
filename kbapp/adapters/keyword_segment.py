"""An immutable L0 index of some entries: which of their keywords and titles a query matches, and who holds them.

A *term* is a keyword or a title in one spelling, its *key* is what all spellings have in common. What can stand in flat
arrays does, since objects would take several times the memory.

Keywords are looked for in a query by hashing: at each place the next characters say which lengths are worth a look.
Aho-Corasick (ahocorasick_rs) is faster by some microseconds, but takes more memory, a second per 200,000 keywords to
build, and the interpreter's lock all that time, which stops every lookup.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import add

import numpy as np
import numpy.typing as npt

from kbapp.adapters.character_pairs import PairPlaces
from kbapp.adapters.word_list import WordList
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import (
    FoundKeyword,
    MatchedKeyword,
    MatchTier,
    PreparedQuery,
    can_be_contained,
    keys_of,
)
from kbapp.domain.keyword_text import camel_cuts, is_word_edge, letter_runs, normal_text, trimmed
from kbapp.domain.typos import terms_of

LONG = 6
"""Patterns from this length on are told apart by so many characters, shorter ones by two (identifiers begin alike)."""

Found = Iterator[tuple[FoundKeyword, list[int]]]
"""Keywords with the numbers of the entries that hold them."""

Finder = Callable[["KeywordSegment", PreparedQuery], Found]


class KeywordSegment:
    """The entries, numbered by path, and their terms. Immutable, hence thread-safe.

    Keyword terms come first, the shortest keys first, so that a search for a part of a keyword meets the nearest ones
    first and skips those that are shorter than the query.
    """

    def __init__(self, entries: Iterable[KnowledgeEntry]) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: entry.path))
        keywords = _collect(self.entries, lambda entry: entry.keywords)
        titles = _collect(self.entries, lambda entry: (entry.title,))
        self._first_title = len(keywords.keys)
        self._spellings = keywords.spellings + titles.spellings
        self._keyword_holders, self._title_holders = keywords.holders, titles.holders
        keys = keywords.keys + titles.keys
        # Every key ends with a line end, which no key and no query in normal form holds.
        self._keys = "".join([f"{key}\n" for key in keys])
        self._starts = array("I", accumulate((len(key) + 1 for key in keys), initial=0))
        self._pairs = PairPlaces(self._keys[: self._starts[self._first_title]])
        self._is_within_word = _places_within_words(self._keys)
        self.words = WordList(self._collect_words())
        self._patterns, self._terms_of_pattern = _patterns(keys, self._spellings)
        self._short_lengths = _lengths_by_prefix([key for key in self._patterns if 2 <= len(key) < LONG], 2)
        self._long_lengths = _lengths_by_prefix([key for key in self._patterns if len(key) >= LONG], LONG)
        for prefix in self._long_lengths:
            self._short_lengths.setdefault(prefix[:2], ())

    def exact(self, query: PreparedQuery) -> Found:
        """The terms that are the query."""
        pattern = self._patterns.get(query.key)
        for term in () if pattern is None else self._terms_of_pattern[pattern]:
            yield self._found(term, query.key, MatchTier.EXACT, len(query.key), query.letters)

    def contained(self, query: PreparedQuery) -> Found:
        """The terms that stand in the query, from word edge to word edge."""
        covered: dict[int, int] = {}
        for start, end, pattern in self._occurrences(query.text):
            place = ((1 << (end - start)) - 1) << start
            for term in self._terms_of_pattern[pattern]:
                covered[term] = covered.get(term, 0) | place
        for term, places in covered.items():
            key = self._key(term)
            if can_be_contained(key, is_title=term >= self._first_title):
                yield self._found(term, key, MatchTier.CONTAINED, len(key), places & query.letters)

    def holders_of_word(self, word: str) -> Iterator[list[int]]:
        """Who holds the terms that have this one of ``words``; slow, since it reads all keys."""
        position = -1
        while (position := self._keys.find(word, position + 1)) >= 0:
            term = bisect_right(self._starts, position) - 1
            if word in terms_of(self._key(term), self._cuts_of(term)):
                yield self._holders(term)
            position = self._starts[term + 1] - 1

    def _collect_words(self) -> set[str]:
        """The words of all terms; on the way, words are cut where their camel-case parts begin."""
        words = set(terms_of(self._keys))
        for term in range(self._first_title):
            if cuts := camel_cuts(self._spellings[term]):
                for cut in cuts:
                    self._is_within_word[self._starts[term] + cut] = False
                words.update(terms_of(self._key(term), cuts))
        return words

    def _cuts_of(self, term: int) -> list[int]:
        return camel_cuts(self._spellings[term]) if term < self._first_title else []

    def _occurrences(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Start, end and pattern wherever a pattern stands in the text from word edge to word edge."""
        short, long, patterns = self._short_lengths.get, self._long_lengths.get, self._patterns.get
        for start, lengths in enumerate(map(short, map(add, text, text[1:]))):
            if lengths is not None and is_word_edge(text, start):
                for length in chain(lengths, long(text[start : start + LONG], ())):
                    end = start + length
                    pattern = patterns(text[start:end])
                    if pattern is not None and end <= len(text) and is_word_edge(text, end):
                        yield start, end, pattern

    def partial(self, query: PreparedQuery) -> Found:
        """The keywords of which the query is a part, from word-part edge to word-part edge; the shortest first."""
        part, next_start = query.key, 0
        for position in self._between_part_edges(self._pairs.candidates(part), len(part)):
            if position >= next_start and self._keys.startswith(part, position):
                term = bisect_right(self._starts, position) - 1
                next_start = self._starts[term + 1]
                yield self._found(term, self._key(term), MatchTier.PARTIAL, len(part), query.letters)

    def _between_part_edges(self, places: npt.NDArray[np.intp], length: int) -> list[int]:
        """Those of the places that are edges of word parts, and that have another edge at the length behind them."""
        is_within_word = np.frombuffer(self._is_within_word, np.uint8)
        places = places[places + length < len(is_within_word)]
        kept: list[int] = places[is_within_word[places] + is_within_word[places + length] == 0].tolist()
        return kept

    def _found(self, term: int, key: str, tier: MatchTier, length: int, covered: int) -> tuple[FoundKeyword, list[int]]:
        matched = MatchedKeyword(self._spellings[term], tier, term >= self._first_title)
        return FoundKeyword(matched, key, length, covered), self._holders(term)

    def _holders(self, term: int) -> list[int]:
        if term >= self._first_title:
            return self._title_holders[term - self._first_title]
        return self._keyword_holders[term]

    def _key(self, term: int) -> str:
        return self._keys[self._starts[term] : self._starts[term + 1] - 1]


class _Rows:
    """Rows of numbers, of any length, in two arrays."""

    def __init__(self, rows: Sequence[int], numbers: Sequence[int]) -> None:
        """From pairs of a row and a number in it; no row is empty, and its numbers keep their order."""
        row_of = np.asarray(rows, dtype=np.intp)
        by_row = np.asarray(numbers, dtype=np.uint32)[np.argsort(row_of, kind="stable")]
        self._starts = array("I", accumulate(np.bincount(row_of).tolist(), initial=0))
        self._numbers = array("I", by_row.tobytes())

    def __getitem__(self, row: int) -> list[int]:
        return self._numbers[self._starts[row] : self._starts[row + 1]].tolist()


@dataclass(frozen=True, slots=True)
class _Terms:
    """Terms in the order of the length of their keys, then the keys, then the spellings."""

    keys: list[str]
    spellings: list[str]
    holders: _Rows


def _collect(entries: Sequence[KnowledgeEntry], texts: Callable[[KnowledgeEntry], Iterable[str]]) -> _Terms:
    """The terms of all entries with the numbers of those that hold them."""
    keys: dict[str, str] = {}
    held: list[str] = []
    holders: list[int] = []
    for number, entry in enumerate(entries):
        for key, spelling in keys_of(texts(entry)).items():
            keys.setdefault(spelling, key)
            held.append(spelling)
            holders.append(number)
    spellings = [spelling for _, _, spelling in sorted([(len(key), key, spelling) for spelling, key in keys.items()])]
    term_of = {spelling: term for term, spelling in enumerate(spellings)}
    rows = _Rows([term_of[spelling] for spelling in held], holders)
    return _Terms([keys[spelling] for spelling in spellings], spellings, rows)


def _places_within_words(text: str) -> bytearray:
    """For each position whether it is no word edge."""
    places, inside = bytearray(len(text) + 1), b"\1" * len(text)
    for start, end in letter_runs(text):
        places[start + 1 : end] = inside[start + 1 : end]
    return places


def _patterns(keys: Sequence[str], spellings: Sequence[str]) -> tuple[dict[str, int], _Rows]:
    """What is looked for in a query, numbered, with its terms: the keys, and spellings that have spaces within CJK."""
    patterns: dict[str, int] = {}
    rows: list[int] = []
    terms: list[int] = []
    for term, (key, spelling) in enumerate(zip(keys, spellings, strict=True)):
        spaced = trimmed(normal_text(spelling)) if len(spelling.split()) > 1 else key
        for pattern in (key,) if spaced == key else (key, spaced):
            rows.append(patterns.setdefault(pattern, len(patterns)))
            terms.append(term)
    return patterns, _Rows(rows, terms)


def _lengths_by_prefix(patterns: Iterable[str], size: int) -> dict[str, tuple[int, ...]]:
    """The lengths of the patterns that begin with the same characters; equal tuples are one object."""
    masks: dict[str, int] = {}
    for pattern in patterns:
        prefix = pattern[:size]
        masks[prefix] = masks.get(prefix, 0) | 1 << len(pattern)
    lengths = {mask: tuple(_set_bits(mask)) for mask in set(masks.values())}
    return {prefix: lengths[mask] for prefix, mask in masks.items()}


def _set_bits(number: int) -> Iterator[int]:
    """The places of the bits that are set, the lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
