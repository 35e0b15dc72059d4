"""Where a text may hold a part, by its pairs of neighbouring characters, without reading the text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint32]

MOST_SLOTS = 1 << 18

_SPREAD = np.uint32(0x9E3779B1)
"""An odd number, so that different characters stay different; products wrap around."""


class PairPlaces:
    """Where each pair of neighbours stands in a text. Immutable, hence thread-safe.

    Pairs are hashed, and different ones may share a slot: what is found here still has to be compared.
    """

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
    return np.uint32(min(MOST_SLOTS, 1 << (pair_count // 4).bit_length()) - 1)


def _slots(text: str, mask: np.uint32) -> Numbers:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    slots: Numbers = (codes[:-1] * _SPREAD + codes[1:]) & mask
    return slots
