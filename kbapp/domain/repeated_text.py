"""Text without what a session was given before: no 40 visible characters reach an executor twice (M3).

White space does not count: the same table set in other widths is the same text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

SHINGLE_CHARACTERS = 40  # as few words in a row are shared by chance, or by a name that both texts need
LEFT_OUT = "…"
# Each shingle, wherever it begins, holds one of the blocks that lie at multiples of this.
_BLOCK = SHINGLE_CHARACTERS // 2


def without_repeats(text: str, earlier: Sequence[str]) -> str:
    """The text with a mark in place of each run of at least 40 visible characters that an earlier text has.

    A shorter text is one run by itself. ``""``: nothing new is left.
    """
    visible = squeezed(text)
    repeated = _repeated(visible, [squeezed(each) for each in earlier])
    if 1 not in repeated:
        return text
    positions = [position for position, character in enumerate(text) if not character.isspace()]
    if not _says_something(text, [position for position, again in zip(positions, repeated, strict=True) if not again]):
        return ""
    parts: list[str] = []
    end = 0
    for first, last in _runs(repeated):
        start = _forward(text, positions[first])
        parts += [text[end:start], LEFT_OUT]
        end = len(text) - _forward(text[::-1], len(text) - positions[last] - 1)
    return "".join([*parts, text[end:]])


@lru_cache(maxsize=1024)  # what a session was given is compared with every later answer
def squeezed(text: str) -> str:
    """The visible characters alone."""
    return "".join(text.split())


def _repeated(text: str, earlier: Sequence[str]) -> bytearray:
    """For each character whether it stands in a shingle that an earlier text has."""
    marks = bytearray(len(text))
    for other in earlier:
        for start in _candidates(text, other):
            if text[start : start + SHINGLE_CHARACTERS] in other:
                marks[start : start + SHINGLE_CHARACTERS] = b"\1" * len(text[start : start + SHINGLE_CHARACTERS])
    return marks


def _says_something(text: str, positions: Sequence[int]) -> bool:
    """Whether a letter or digit stands at one of the positions, outside of headings."""
    starts = [0, *(position + 1 for position, character in enumerate(text) if character == "\n")]
    return any(
        text[position].isalnum() and not text.startswith("#", starts[bisect_right(starts, position) - 1])
        for position in positions
    )


def _candidates(text: str, other: str) -> Iterator[int]:
    """Where shingles of the text begin that the other one may have: it has a block of theirs."""
    last = max(len(text) - SHINGLE_CHARACTERS, 0)
    for block in range(0, len(text), _BLOCK):
        if text[block : block + _BLOCK] in other:
            yield from range(max(block + _BLOCK - SHINGLE_CHARACTERS, 0), min(block, last) + 1)


def _forward(text: str, start: int) -> int:
    """The next end of a line, else of a word, when it is less than half a shingle away."""
    if start == 0 or text[start - 1] == "\n":
        return start
    near = text[start : start + _BLOCK]
    if "\n" in near:
        return start + near.index("\n") + 1
    word = next((length for length, character in enumerate(near) if not _is_letter(character)), 0)
    return start + word if _is_letter(text[start - 1]) else start


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _runs(marks: bytearray) -> Iterator[tuple[int, int]]:
    """First and last index of each run of marks."""
    start = marks.find(1)
    while start >= 0:
        end = marks.find(0, start)
        end = len(marks) if end < 0 else end
        yield start, end - 1
        start = marks.find(1, end)
