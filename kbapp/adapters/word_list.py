"""ASCII words in flat arrays: whether one is among them, and which are nearly a given term (K6).

Of the words with a term's first character and about its length, those are compared that have nearly the same set of
characters: one edit takes one character out of the set and brings one in at most.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np

from kbapp.domain.typos import allowed_edits, edits_between


class WordList:
    """Immutable, hence thread-safe. The words are sorted by length, then by themselves."""

    def __init__(self, words: Iterable[str]) -> None:
        ordered = sorted(set(words), key=_rank)
        self._text = "".join(ordered)
        self._starts = array("I", accumulate(map(len, ordered), initial=0))
        self._sets = np.zeros(len(ordered), np.uint32)
        if ordered:
            bits = np.left_shift(np.uint32(1), np.frombuffer(self._text.encode("ascii"), np.uint8) & 31)
            self._sets = np.bitwise_or.reduceat(bits.astype(np.uint32), self._starts[:-1])

    def __contains__(self, word: str) -> bool:
        place = self._place((len(word), word))
        return place < len(self._sets) and self._word(place) == word

    def near(self, term: str) -> Iterator[tuple[int, str]]:
        """The words that may be meant by the term, with the number of edits."""
        edits, own = allowed_edits(term), np.uint32(0)
        for character in term:
            own |= np.uint32(1 << (ord(character) & 31))
        for length in range(len(term) - edits, len(term) + edits + 1):
            first = self._place((length, term[0]))
            last = self._place((length, chr(ord(term[0]) + 1)))
            differing = self._sets[first:last] ^ own
            for _ in range(2 * edits):
                differing &= differing - np.uint32(1)  # clears the lowest bit that is set
            for place in np.flatnonzero(differing == 0).tolist():
                word = self._word(first + place)
                if count := edits_between(term, word):
                    yield count, word

    def _place(self, rank: tuple[int, str]) -> int:
        return bisect_left(range(len(self._sets)), rank, key=lambda place: _rank(self._word(place)))

    def _word(self, place: int) -> str:
        return self._text[self._starts[place] : self._starts[place + 1]]


def _rank(word: str) -> tuple[int, str]:
    return len(word), word
