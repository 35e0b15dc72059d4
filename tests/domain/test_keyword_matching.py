"""What a match is worth (K5), what is common (K10), how much of the query is covered (K11)."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import (
    OVERLAP_SHARE,
    TITLE_FACTOR,
    FoundKeyword,
    KeywordHit,
    KeywordMatch,
    MatchedKeyword,
    MatchRules,
    MatchTier,
    assess,
    can_be_contained,
    can_be_partial,
    keys_of,
    prepare_query,
    weigh,
)

RULES = MatchRules()


def found(key: str, covered: int = 0, *, is_title: bool = False, length: int | None = None) -> FoundKeyword:
    return FoundKeyword(MatchedKeyword(key, MatchTier.CONTAINED, is_title), key, length or len(key), covered)


def weight(found_keyword: FoundKeyword, frequency: int = 1) -> float:
    return weigh(found_keyword, frequency, 100, RULES).weight


def hit(key: str, covered: int, *, weight: float = 1.0, is_common: bool = False) -> KeywordHit:
    return KeywordHit(found(key, covered), weight, is_common)


def test_k5_longer_keywords_weigh_more() -> None:
    assert weight(found("支付网关")) > weight(found("超时"))
    assert weight(found("err_timeout")) > weight(found("timeout"))


def test_k5_rarer_keywords_weigh_more() -> None:
    assert (
        weight(found("超时"), frequency=1)
        > weight(found("超时"), frequency=2)
        > weight(found("超时"), frequency=100)
        > 0
    )


def test_k5_an_english_word_weighs_as_much_as_two_chinese_characters() -> None:
    assert math.isclose(weight(found("cache")), weight(found("缓存")))


def test_k5_a_title_weighs_more_than_a_keyword() -> None:
    assert math.isclose(weight(found("支付网关", is_title=True)), TITLE_FACTOR * weight(found("支付网关")))


def test_k5_a_part_weighs_more_in_a_shorter_keyword() -> None:
    assert weight(found("支付网关", length=2)) > weight(found("支付网关平台", length=2))
    assert weight(found("支付", length=2)) > weight(found("支付网关", length=2))


def test_k5_separate_keywords_add_up() -> None:
    assessment = assess(
        prepare_query("支付网关超时"), [hit("支付网关", 0b001111, weight=3), hit("超时", 0b110000, weight=2)]
    )
    assert assessment is not None
    assert assessment.score == 5


def test_k5_a_keyword_within_a_longer_one_counts_little() -> None:
    assessment = assess(
        prepare_query("支付网关超时"), [hit("支付网关", 0b001111, weight=3), hit("网关", 0b001100, weight=2)]
    )
    assert assessment is not None
    assert assessment.score == 3 + 2 * OVERLAP_SHARE


def test_k5_a_keyword_that_overlaps_by_half_counts_in_between() -> None:
    assessment = assess(prepare_query("网关超时"), [hit("网关超", 0b0111, weight=3), hit("超时", 0b1100, weight=2)])
    assert assessment is not None
    assert assessment.score == 3 + 2 * (1 + OVERLAP_SHARE) / 2


@pytest.mark.parametrize(
    ("frequency", "entry_count", "is_common"),
    [(10, 100, False), (11, 100, True), (5, 49, False), (6, 50, True), (49, 49, False)],
)
def test_k10_common_is_above_a_tenth_from_fifty_entries_on(frequency: int, entry_count: int, is_common: bool) -> None:
    assert weigh(found("nacos"), frequency, entry_count, RULES).is_common is is_common


def test_k10_a_title_is_never_common() -> None:
    assert not weigh(found("nacos", is_title=True), 100, 100, RULES).is_common


def test_k10_common_keywords_alone_are_no_match_but_add_to_one() -> None:
    query = prepare_query("nacos鉴权")
    common = hit("nacos", 0b11111, weight=1, is_common=True)
    rare = hit("鉴权", 0b1100000, weight=2)
    assert assess(query, [common]) is None
    together = assess(query, [common, rare])
    assert together is not None
    assert together.score == 3


@pytest.mark.parametrize(
    ("query", "covered", "coverage"),
    [("支付网关，怎么？", 0b001111, 4 / 6), ("支付 网关", 0b11, 2 / 4), ("redis 缓存", 0b11111, 5 / 7), ("?!", 0, 1.0)],
)
def test_k11_coverage_counts_letters_and_digits_only(query: str, covered: int, coverage: float) -> None:
    assessment = assess(prepare_query(query), [hit("支付网关", covered)])
    assert assessment is not None
    assert math.isclose(assessment.coverage, coverage)


@pytest.mark.parametrize(
    ("key", "is_title", "allowed"),
    [
        ("a", False, False),
        ("锁", False, False),
        ("c#", False, True),
        ("api", False, True),
        ("::", False, False),
        ("超时", True, False),
        ("超时排查", True, True),
        ("overview", True, False),
        ("connection pool", True, True),
        ("redis缓存", True, True),
    ],
)
def test_k5_what_is_too_little_to_match_by_containment(key: str, is_title: bool, allowed: bool) -> None:
    assert can_be_contained(key, is_title=is_title) is allowed


@pytest.mark.parametrize(
    ("key", "allowed"), [("支", False), ("支付", True), ("ab", False), ("api", True), ("a_b", False), ("k8支", True)]
)
def test_k3_what_is_too_little_to_match_as_a_part(key: str, allowed: bool) -> None:
    assert can_be_partial(key) is allowed


def test_f4_the_first_spelling_of_a_keyword_is_kept() -> None:
    assert keys_of(["ERR_A", "err_a", "ＥＲＲ＿Ａ", " ", "超时"]) == {"err_a": "ERR_A", "超时": "超时"}


@pytest.mark.parametrize(
    ("tier", "matched", "reason"),
    [
        (MatchTier.EXACT, [("ERR_TIMEOUT", False)], "The query is the keyword 'ERR_TIMEOUT'."),
        (
            MatchTier.CONTAINED,
            [("支付网关", False), ("超时", False)],
            "The query contains the keywords '支付网关', '超时'.",
        ),
        (MatchTier.PARTIAL, [("支付网关", False)], "The query is part of the keyword '支付网关'."),
        (MatchTier.EXACT, [("缓存", True)], "The query is the title '缓存'."),
        (MatchTier.SYNONYM, [("熔断", False)], "The query means the keyword '熔断' by the synonym 'w'."),
        (
            MatchTier.TYPO,
            [("Redis 缓存", False), ("Redis Guide", True)],
            "The query nearly names the keyword 'Redis 缓存' ('w') and the title 'Redis Guide' ('w').",
        ),
        (
            MatchTier.CONTAINED,
            [("Redis 缓存指南", True), ("缓存", False)],
            "The query contains the keyword '缓存' and the title 'Redis 缓存指南'.",
        ),
    ],
)
def test_k5_the_reason_says_which_keyword_matched_how(
    tier: MatchTier, matched: list[tuple[str, bool]], reason: str
) -> None:
    keywords = tuple(MatchedKeyword(keyword, tier, is_title, "w") for keyword, is_title in matched)
    match = KeywordMatch(KnowledgeEntry("a.md", "A", (), None), tier, 1.0, keywords, 1.0)
    assert match.reason == reason


@pytest.mark.parametrize(
    ("tier", "coverage", "is_sure"),
    [
        (MatchTier.EXACT, 1.0, True),
        (MatchTier.PARTIAL, 0.4, True),
        (MatchTier.CONTAINED, 0.39, False),
        (MatchTier.SYNONYM, 1.0, False),
        (MatchTier.TYPO, 1.0, False),
    ],
)
def test_k6_k11_a_guess_or_a_low_coverage_is_not_sure(tier: MatchTier, coverage: float, is_sure: bool) -> None:
    match = KeywordMatch(KnowledgeEntry("a.md", "A", (), None), tier, 1.0, (), coverage)
    assert match.is_sure(0.4) is is_sure


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**6 - 1), st.floats(0, 10), st.booleans()), min_size=1, max_size=5))
def test_one_hit_more_never_lowers_score_or_coverage(hits: list[tuple[int, float, bool]]) -> None:
    query = prepare_query("支付网关超时")
    made = [hit("支付", covered, weight=weight, is_common=common) for covered, weight, common in hits]
    fewer, more = assess(query, made[:-1]) if made[:-1] else None, assess(query, made)
    assert fewer is None or (more is not None and more.score >= fewer.score and more.coverage >= fewer.coverage)
    assert more is None or 0 <= more.coverage <= 1
