"""L0 rules (K1-K6, K10, K11): what makes a keyword or title match a query, and what the match is worth.

Matches and their parts are named tuples: a lookup may make thousands, and frozen dataclasses take three times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_text import cjk_count, letter_count, match_key, normal_text, squeezed, trimmed, word_count

CJK_WEIGHT = 1.0
"""What a Chinese, Japanese or Korean character adds to the length of a keyword."""

LETTER_WEIGHT = 0.4
"""What any other letter or digit adds: an English word of five letters says about as much as two Chinese characters."""

TITLE_FACTOR = 1.5
"""A matched title counts more than a keyword of the same length and rarity: it names the whole document."""

_BINARY_DIGITS = bytes.maketrans(b"\0\1", b"01")

OVERLAP_SHARE = 0.25
"""What is left of a keyword's weight where longer keywords of the same entry already cover its place in the query."""


class MatchTier(IntEnum):
    """How a keyword matches, best first (K5, K6); only the best tier present counts."""

    EXACT = 1
    CONTAINED = 2
    PARTIAL = 3
    SYNONYM = 4
    TYPO = 5

    @property
    def is_literal(self) -> bool:
        """Whether the query's own words match; only then can a single match answer alone (K6)."""
        return self <= MatchTier.PARTIAL


_TIER_PHRASE = {
    MatchTier.EXACT: "The query is",
    MatchTier.CONTAINED: "The query contains",
    MatchTier.PARTIAL: "The query is part of",
    MatchTier.SYNONYM: "The query means",
    MatchTier.TYPO: "The query nearly names",
}


@dataclass(frozen=True, slots=True)
class MatchRules:
    """Which keywords are too common to make a match by themselves (K10).

    Those held by more than this share (0 to 1) of the entries, in an index that has the minimum of entries.
    """

    common_keyword_share: float = 0.10
    common_keyword_min_entries: int = 50


class MatchedKeyword(NamedTuple):
    """A keyword or title as its document writes it, and how it matched.

    ``word`` is the synonym or the mistyped word by which it did, empty in the other tiers.
    """

    keyword: str
    tier: MatchTier
    is_title: bool
    word: str = ""

    def __str__(self) -> str:
        ways = {MatchTier.SYNONYM: f" by the synonym '{self.word}'", MatchTier.TYPO: f" ('{self.word}')"}
        return f"{'the title ' if self.is_title else ''}'{self.keyword}'{ways.get(self.tier, '')}"


class KeywordMatch(NamedTuple):
    """An entry that matches a query.

    ``matched`` has the longest keyword first. ``score`` compares the matches of one query only. ``coverage`` is the
    share (0 to 1) of the query's letters and digits that the matched keywords cover (K11).
    """

    entry: KnowledgeEntry
    tier: MatchTier
    score: float
    matched: tuple[MatchedKeyword, ...]
    coverage: float

    def is_sure(self, min_coverage: float) -> bool:
        """Whether this match can answer alone when it is the only one (K6, K11)."""
        return self.tier.is_literal and self.coverage >= min_coverage

    @property
    def reason(self) -> str:
        """One sentence that says which keyword matched how."""
        keywords = [str(m) for m in self.matched if not m.is_title]
        titles = [str(m) for m in self.matched if m.is_title]
        named = [f"the keyword{'s' if len(keywords) > 1 else ''} {', '.join(keywords)}"] if keywords else []
        return f"{_TIER_PHRASE[self.tier]} {' and '.join(named + titles)}."


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A query in normal form: ``text`` to look for keywords in, ``key`` to compare as a whole.

    Bit ``i`` of ``letters`` is set when ``text[i]`` is a letter or digit of any script.
    """

    text: str
    key: str
    letters: int


class FoundKeyword(NamedTuple):
    """A keyword or title that the query matches, whoever holds it.

    ``length`` is how many characters of the query one occurrence takes: as many as ``key`` has, or as the query has
    when it is a part of ``key``. ``covered`` has the bits of ``PreparedQuery.letters`` that all occurrences take.
    """

    matched: MatchedKeyword
    key: str
    length: int
    covered: int


class KeywordHit(NamedTuple):
    """A found keyword with its weight among the entries of an index."""

    found: FoundKeyword
    weight: float
    is_common: bool


class Assessment(NamedTuple):
    """What the hits of one entry amount to; the fields are those of ``KeywordMatch``."""

    score: float
    matched: tuple[MatchedKeyword, ...]
    coverage: float


def prepare_query(query: str) -> PreparedQuery:
    """The query in normal form."""
    text = normal_text(query)
    bits = bytes(map(str.isalnum, reversed(text))).translate(_BINARY_DIGITS)
    return PreparedQuery(text, squeezed(trimmed(text)), int(bits or b"0", 2))


def keys_of(keywords: Iterable[str]) -> dict[str, str]:
    """The match keys of an entry's keywords, each with its first spelling."""
    spellings: dict[str, str] = {}
    for keyword in keywords:
        key = match_key(keyword)
        if key:
            # The key of most Chinese keywords is the keyword: one string for both saves an index much memory.
            spellings.setdefault(keyword if key == keyword else key, keyword)
    return spellings


def can_be_contained(key: str, *, is_title: bool) -> bool:
    """Whether a keyword or title says enough to match a query that contains it (K5).

    A keyword needs two characters, one of them a letter or digit; a title needs four CJK characters or two words.
    """
    if is_title:
        return cjk_count(key) >= 4 or word_count(key) >= 2
    return len(key) >= 2 and any(map(str.isalnum, key))


def can_be_partial(key: str) -> bool:
    """Whether a query says enough to match as a part of a keyword (K3): two CJK characters, or three letters."""
    return cjk_count(key) >= 2 or letter_count(key) >= 3


def weigh(found: FoundKeyword, frequency: int, entry_count: int, rules: MatchRules) -> KeywordHit:
    """What a keyword held by ``frequency`` of ``entry_count`` entries is worth: the longer and rarer, the more (K5).

    The rarity is BM25's inverse document frequency (Robertson & Zaragoza 2009) in the form that stays positive. A query
    that is part of a keyword counts by its own length, and the less, the more of the keyword it leaves out.
    """
    rarity = math.log(1 + (entry_count - frequency + 0.5) / (frequency + 0.5))
    weight = _spoken_length(found.key) * (found.length / len(found.key)) ** 2 * rarity
    if found.matched.is_title:
        return KeywordHit(found, weight * TITLE_FACTOR, is_common=False)
    is_frequent = frequency > rules.common_keyword_share * entry_count
    return KeywordHit(found, weight, is_frequent and entry_count >= rules.common_keyword_min_entries)


# The same keywords come again and again.
@lru_cache(maxsize=4_096)
def _spoken_length(key: str) -> float:
    cjk = cjk_count(key)
    return cjk * CJK_WEIGHT + (letter_count(key) - cjk) * LETTER_WEIGHT


def rank_of(hit: KeywordHit) -> tuple[int, float, str]:
    """The order of hits: the longest first."""
    return -hit.found.length, -hit.weight, hit.found.matched.keyword


def assess(query: PreparedQuery, hits: Sequence[KeywordHit]) -> Assessment | None:
    """Add up the hits of one entry in one tier, given by ``rank_of``; None when all of them are common (K10)."""
    score, covered, says_something = 0.0, 0, False
    for hit in hits:
        own = hit.found.covered
        fresh = (own & ~covered).bit_count() / own.bit_count() if own else 1.0
        score += hit.weight * (OVERLAP_SHARE + (1 - OVERLAP_SHARE) * fresh)
        covered |= own
        says_something |= not hit.is_common
    if not says_something:
        return None
    total = query.letters.bit_count()
    return Assessment(score, tuple([hit.found.matched for hit in hits]), covered.bit_count() / total if total else 1.0)
