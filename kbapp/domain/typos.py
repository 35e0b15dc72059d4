"""Typos in ASCII terms (K6): which terms count, and which words they may be meant for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from kbapp.domain.keyword_text import LETTER

MIN_LENGTH = 5
"""Shorter terms are too easily another word."""

MIN_LENGTH_FOR_TWO = 10
"""From this length on a term may have two typos."""

_ENDINGS = frozenset(["", "s", "es", "d", "ed"])
_NUMBER = re.compile("[0-9]+")
_WORD = re.compile(f"(?<!{LETTER})[a-z0-9]{{{MIN_LENGTH},}}(?!{LETTER})")
_COMPOUND = re.compile(f"(?<!{LETTER})[a-z0-9]+(?:[-_./]+[a-z0-9]+)*(?!{LETTER})")

Terms = Iterator[tuple[int, int]]
"""Start and end of each."""


def words_in(text: str) -> Terms:
    """The words in a text in normal form that can be mistyped, or meant: ``timeout`` in ``err_timeout``."""
    return (found.span() for found in _WORD.finditer(text))


def compounds_in(text: str) -> Terms:
    """The compounds in a text in normal form that can be mistyped, or meant: ``err_timeout``."""
    spans = (found.span() for found in _COMPOUND.finditer(text))
    return ((start, end) for start, end in spans if end - start >= MIN_LENGTH and not text[start:end].isalnum())


def terms_of(key: str, camel_cuts: Sequence[int] = ()) -> Iterator[str]:
    """What a mistyped term may be meant for in a keyword or title in normal form, also camel-case parts."""
    for start, end in chain(words_in(key), compounds_in(key)):
        yield key[start:end]
        if camel_cuts:
            cuts = [start, *(cut for cut in camel_cuts if start < cut < end), end]
            yield from (key[left:right] for left, right in pairwise(cuts) if right - left >= MIN_LENGTH)


def allowed_edits(term: str) -> int:
    """How many typos a term of this length may have."""
    return 2 if len(term) >= MIN_LENGTH_FOR_TWO else 1


def edits_between(term: str, word: str) -> int | None:
    """How many edits turn the term into another word; None: too many of them, or they are no typo.

    An edit inserts, deletes or replaces a character, or swaps two neighbours (Damerau 1964; swapped ones are not edited
    again). The first character and all numbers must be the same: ``ERR_1002`` is no typo of ``ERR_1001``. An ending
    such as that of a plural makes another form of a word, and no typo.
    """
    if not _is_within(term, word, allowed_edits(term)) or term[0] != word[0]:
        return None
    shorter, longer = sorted((term, word), key=len)
    if (longer.startswith(shorter) and longer[len(shorter) :] in _ENDINGS) or _numbers(term) != _numbers(word):
        return None
    return 1 if _is_within(term, word, 1) else 2


def _numbers(term: str) -> list[str]:
    return _NUMBER.findall(term)


def _is_within(left: str, right: str, edits: int) -> bool:
    if abs(len(left) - len(right)) > edits:
        return False
    if left == right or not edits:
        return left == right
    start = 0
    while left[start : start + 1] == right[start : start + 1]:
        start += 1
    after_left, after_right = left[start + 1 :], right[start + 1 :]
    return (
        _is_within(after_left, after_right, edits - 1)
        or _is_within(after_left, right[start:], edits - 1)
        or _is_within(left[start:], after_right, edits - 1)
        or (
            left[start : start + 2] == right[start : start + 2][::-1]
            and _is_within(after_left[1:], after_right[1:], edits - 1)
        )
    )
