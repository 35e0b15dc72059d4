"""Pairs of neighbouring characters, hashed, so that numpy can deal with a whole text at once.

Different pairs may share a slot: what is found here still has to be compared.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint32]

MOST_SLOTS = 1 << 18

_SPREAD = np.uint32(0x9E3779B1)
"""An odd number, so that different characters stay different; products wrap around."""


class PairSet:
    """Some pairs. Immutable, hence thread-safe."""

    def __init__(self, pairs: Iterable[str]) -> None:
        text = "".join(pairs)
        self._mask = _mask(len(text))
        self._known = np.zeros(int(self._mask) + 1, np.bool_)
        self._known[_slots(text, self._mask)[::2]] = True

    def places_in(self, text: str) -> list[int]:
        """Where in the text a pair of the set begins, and a few other places."""
        places: list[int] = self._known[_slots(text, self._mask)].nonzero()[0].tolist()
        return places


class PairPlaces:
    """Where each pair of neighbours stands in a text. Immutable, hence thread-safe."""

    def __init__(self, text: str) -> None:
        self._mask = _mask(len(text))
        slots = _slots(text, self._mask)
        self._places = np.argsort(slots, kind="stable").astype(np.uint32)
        ends = np.cumsum(np.bincount(slots, minlength=int(self._mask) + 1))
        self._ends = np.concatenate(([0], ends)).astype(np.uint32)

    def candidates(self, part: str) -> npt.NDArray[np.intp]:
        """The places, ascending, where its rarest pair allows that this part of two characters or more begins."""
        slots = _slots(part, self._mask)
        starts, ends = self._ends[slots], self._ends[slots + np.uint32(1)]
        rarest = int((ends - starts).argmin())
        places = self._places[starts[rarest] : ends[rarest]].astype(np.intp) - rarest
        return places[places >= 0]


def _mask(pair_count: int) -> np.uint32:
    return np.uint32(min(MOST_SLOTS, 1 << (4 * pair_count).bit_length()) - 1)


def _slots(text: str, mask: np.uint32) -> Numbers:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    slots: Numbers = (codes[:-1] * _SPREAD + codes[1:]) & mask
    return slots
