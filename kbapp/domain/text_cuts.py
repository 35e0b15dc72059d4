"""Where text may be cut: lines, sentence ends, clause ends, and never inside what a reader sees as one character."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

ZERO_WIDTH_JOINER = "\u200d"
MAX_CLUSTER_CHARACTERS = 32

# The lookbehind keeps a run of full stops from being tried at each of its positions, and "1. " from ending a sentence.
_SENTENCE_END = re.compile(r"""(?:[。！？；…]++[”’"'」』）)】》]*+|(?<![.!?\d])[.!?]++["'”’)\]]*+(?=\s))[^\S\n]*+\n?""")
_CLAUSE_END = re.compile(r"[，、：,;:|\s]")


@dataclass(frozen=True, slots=True)
class Lines:
    """A text and the positions at which its lines start; line numbers are 1-based, inclusive."""

    text: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Lines:
        """The lines of a text; only a line feed ends one."""
        return cls(text, (0, *(match.end() for match in re.finditer("\n", text))))

    def number(self, position: int) -> int:
        """The line that holds a character."""
        return bisect_right(self.starts, position)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where the lines ``first`` to ``last`` start and end, without the line feed at the end."""
        end = self.starts[last] - 1 if last < len(self.starts) else len(self.text)
        return self.starts[first - 1], end


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """``text[start:end]`` without the blank lines at its ends; indentation and spaces at the end of a line stay."""
    part = text[start:end]
    leading = len(part) - len(part.lstrip())
    if leading == len(part):
        return start, start
    first = part.rfind("\n", 0, leading) + 1
    line_end = part.find("\n", len(part.rstrip()))
    return start + first, start + line_end if line_end >= 0 else end


def safe_end(text: str, end: int, start: int = 0) -> int:
    """The last position up to ``end`` that tears no character from its combining marks, joiners or selectors.

    ``start`` is a position known to be safe. A longer cluster than any real one is cut at ``end``.
    """
    lowest = max(start, end - MAX_CLUSTER_CHARACTERS)
    position = end
    while position > lowest and position < len(text) and _belongs_to_previous(text, position, start):
        position -= 1
    return position if position > lowest else end


def cut_to(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text; ``…`` ends one that was longer."""
    return text if len(text) <= limit else text[: safe_end(text, limit - 1)].rstrip() + "…"


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of ``text[start:end]`` with the white space after them."""
    return _parts(start, end, (match.end() for match in _SENTENCE_END.finditer(text, start, end)))


def lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines of ``text[start:end]`` with their line feeds."""
    return _parts(start, end, (match.end() for match in re.compile("\n").finditer(text, start, end)))


def bounded_parts(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """Parts of about equal size, at most ``limit`` characters, cut after a clause or a word where there is one."""
    while (length := end - start) > limit:
        target = start + -(-length // -(-length // limit))
        position = target
        while position > start + limit // 4 and not _CLAUSE_END.match(text, position - 1):
            position -= 1
        if position <= start + limit // 4:
            position = safe_end(text, target, start)
        yield start, position
        start = position
    if start < end:
        yield start, end


def _parts(start: int, end: int, ends: Iterator[int]) -> Iterator[tuple[int, int]]:
    for position in ends:
        yield start, position
        start = position
    if start < end:
        yield start, end


def _belongs_to_previous(text: str, position: int, start: int) -> bool:
    character = text[position]
    return (
        unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or text[position - 1] == ZERO_WIDTH_JOINER
        or (_is_regional_indicator(character) and _splits_flag(text, position, start))
    )


def _splits_flag(text: str, position: int, start: int) -> bool:
    """Whether an odd number of regional indicators stands before a position: the next one completes a flag."""
    before = position
    while before > start and _is_regional_indicator(text[before - 1]):
        before -= 1
    return (position - before) % 2 == 1


def _is_regional_indicator(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
