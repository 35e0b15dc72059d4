"""The normal form of queries and keywords, and where their words begin and end (K1, K3)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kbapp.domain.tokens import CJK

_CJK_CHARACTER = re.compile(f"[{CJK}]")
# The space comes first in these, so that a search jumps from space to space.
_SPACE_BESIDE_CJK = re.compile(f" (?:(?<=[{CJK}] )(?=[^{CJK}])|(?<=[^{CJK}] )(?=[{CJK}]))")
_SPACE_WITHIN_CJK = re.compile(f" (?<=[{CJK}] )(?=[{CJK}])")
LETTER = f"[^\\W_{CJK}]"
"""A pattern of one letter or digit that is not CJK."""
_WORD = re.compile(f"[{CJK}]{{2,}}|{LETTER}+")
_LETTER_RUN = re.compile(f"{LETTER}{{2,}}")
_WITHIN_WORD = re.compile(f"(?<={LETTER})(?={LETTER})")
# Joiners, direction marks, variation selectors, lone surrogates: nobody sees them, and pasted text is full of them.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufe00-\ufe0f\ufeff]")
_WIDE_SIGNS = dict(zip("，？！：；（）", ",?!:;()", strict=True))
_QUOTES = "\"'`“”‘’「」『』()[]{}<>【】《》〈〉"
_BEFORE = _QUOTES + " "
_BEHIND = "?!。.,;:、…" + _BEFORE


def normal_text(text: str) -> str:
    """Case and width folded, runs of white space as one space, none between CJK and other scripts."""
    return _fold(_shape(text))


def match_key(text: str) -> str:
    """The form in which a query as a whole equals a keyword: without quotes around, ``?`` behind, spaces within CJK."""
    return squeezed(trimmed(normal_text(text)))


def trimmed(text: str) -> str:
    """The text without quotes and brackets around and punctuation behind; one that is nothing else stays as it is."""
    return text.rstrip(_BEHIND).lstrip(_BEFORE) or text


def squeezed(text: str) -> str:
    """The text without spaces within CJK."""
    return _SPACE_WITHIN_CJK.sub("", text) if " " in text else text


def camel_cuts(keyword: str) -> list[int]:
    """Where camel-case parts begin in the keyword's ``match_key``: 10 in ``ConnectionPool``, 4 in ``HTTPServer``."""
    if not any(map(str.isupper, unicodedata.normalize("NFKC", keyword))):
        return []
    shaped = squeezed(trimmed(_shape(keyword)))
    if shaped.isupper():
        return []
    humps = [
        position for position in range(1, len(shaped)) if shaped[position].isupper() and _is_hump(shaped, position)
    ]
    cuts, length = [], 0
    for start, end in zip([0, *humps], humps, strict=False):
        length += len(_fold(shaped[start:end]))
        cuts.append(length)
    return cuts


def is_word_edge(text: str, position: int) -> bool:
    """Whether a word may begin or end here: not between two letters or digits, unless one of them is CJK."""
    return not _WITHIN_WORD.match(text, position)


def letter_runs(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each run of letters and digits that are not CJK; no position within one is a word edge."""
    return (run.span() for run in _LETTER_RUN.finditer(text))


def cjk_count(text: str) -> int:
    """The number of Chinese, Japanese and Korean characters."""
    return 0 if text.isascii() else len(_CJK_CHARACTER.findall(text))


def letter_count(text: str) -> int:
    """The number of letters and digits of any script, CJK included."""
    return sum(map(str.isalnum, text))


def word_count(text: str) -> int:
    """The number of words; two CJK characters or more in a row are one, one alone is none."""
    return len(_WORD.findall(text))


def _shape(text: str) -> str:
    """The normal form with its case kept."""
    if not text.isascii():
        text = _composed(_INVISIBLE.sub("", text))
    text = " ".join(text.split())
    return _SPACE_BESIDE_CJK.sub("", text) if " " in text else text


def _composed(text: str) -> str:
    """The text in NFKC; since that is slow, first without the signs for which alone most Chinese queries need it."""
    if unicodedata.is_normalized("NFKC", text):
        return text
    for wide, narrow in _WIDE_SIGNS.items():
        text = text.replace(wide, narrow)
    return unicodedata.normalize("NFKC", text)


def _fold(shaped: str) -> str:
    folded = shaped.casefold()
    return folded if folded == shaped or folded.isascii() else unicodedata.normalize("NFKC", folded)


def _is_hump(text: str, position: int) -> bool:
    """Whether the capital at this position begins a part: after a small letter or digit, or before a small letter."""
    before, after = text[position - 1], text[position + 1 : position + 2]
    return before.islower() or before.isdigit() or (before.isupper() and after.islower())
