"""ASCII words in flat arrays: whether one is among them, and which are nearly a given term (K6).

Of the words with a term's first character and about its length, those are compared that have nearly the same set of
characters: one edit takes one character out of the set and brings one in at most.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from kbapp.domain.typos import allowed_edits, edits_between

FEW_WORDS = 64
"""Below that a loop is faster than numpy."""


class WordList:
    """Immutable, hence thread-safe. The words are sorted by length, then by themselves."""

    def __init__(self, words: Iterable[str]) -> None:
        ordered = sorted(sorted(set(words)), key=len)
        self._text = "".join(ordered)
        self._starts = array("I", accumulate(map(len, ordered), initial=0))
        self._sets = array("I")
        if ordered:
            bits = np.left_shift(np.uint32(1), np.frombuffer(self._text.encode("ascii"), np.uint8) & 31)
            self._sets.frombytes(np.bitwise_or.reduceat(bits.astype(np.uint32), self._starts[:-1]).tobytes())
        self._places = _places_by_start(ordered)

    def __contains__(self, word: str) -> bool:
        places = self._places.get((len(word), word[0]), _NOWHERE)
        nearest = bisect_left(places, word, key=self._word)
        return nearest < len(places) and self._word(places[nearest]) == word

    def near(self, term: str) -> Iterator[tuple[int, str]]:
        """The words that may be meant by the term, with the number of edits."""
        edits, own = allowed_edits(term), 0
        for character in term:
            own |= 1 << (ord(character) & 31)
        for longer in range(-edits, edits + 1):
            places = self._places.get((len(term) + longer, term[0]), _NOWHERE)
            # Another character for one changes the set twice; one more or one less does so once.
            for place in self._with_set(places, own, 2 * edits - abs(longer)):
                word = self._word(place)
                if count := edits_between(term, word):
                    yield count, word

    def _with_set(self, places: range, characters: int, differing: int) -> Sequence[int]:
        """The places of the words whose set of characters differs in so many bits at most."""
        if len(places) < FEW_WORDS:
            sets = self._sets
            return [place for place in places if (sets[place] ^ characters).bit_count() <= differing]
        sets_there = np.frombuffer(self._sets, np.uint32, len(places), 4 * places.start)
        return (
            places.start + np.flatnonzero(np.bitwise_count(sets_there ^ np.uint32(characters)) <= differing)
        ).tolist()

    def _word(self, place: int) -> str:
        return self._text[self._starts[place] : self._starts[place + 1]]


_NOWHERE = range(0)


def _places_by_start(ordered: Sequence[str]) -> dict[tuple[int, str], range]:
    """Where the words of one length with one first character stand."""
    firsts: dict[tuple[int, str], int] = {}
    for place, word in enumerate(ordered):
        firsts.setdefault((len(word), word[0]), place)
    return {start: range(*span) for start, span in zip(firsts, pairwise([*firsts.values(), len(ordered)]), strict=True)}
