"""The L0 index by the right values of K1 to K5, K10 and K11."""

import itertools
import math

import pytest

from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.adapters.keyword_snapshot import PARTIAL_LIMIT
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import MatchedKeyword, MatchRules, MatchTier

PAYMENT = "api/payment-errors.md"


def entry(path: str, *keywords: str, title: str = "标题") -> KnowledgeEntry:
    return KnowledgeEntry(path, title, keywords, None)


def index_of(*entries: KnowledgeEntry) -> KeywordIndex:
    index = KeywordIndex(MatchRules())
    index.replace(entries)
    return index


def paths(index: KeywordIndex, query: str) -> list[str]:
    return [match.entry.path for match in index.match(query)]


def tier_of(keyword: str, query: str, *, title: str = "标题") -> MatchTier | None:
    """The tier in which an entry with this keyword matches."""
    matches = index_of(entry("a.md", keyword, title=title)).match(query)
    return matches[0].tier if matches else None


@pytest.fixture
def payment() -> KeywordIndex:
    return index_of(entry(PAYMENT, "ERR_TIMEOUT", "超时", "支付网关", title="支付网关错误码定义"))


@pytest.mark.parametrize(
    "query", ["ERR_TIMEOUT", "err_timeout", "ＥＲＲ＿ＴＩＭＥＯＵＴ", "支付网关超时问题", "报错 Err_Timeout 了", "支付"]
)
def test_k1_a_query_matches_without_regard_to_case_and_width(payment: KeywordIndex, query: str) -> None:
    assert paths(payment, query) == [PAYMENT]


@pytest.mark.parametrize("query", ["限流", "", "  ", "？", "如何优化缓存"])
def test_k1_a_query_without_a_keyword_gives_an_empty_list(payment: KeywordIndex, query: str) -> None:
    assert payment.match(query) == []


@pytest.mark.parametrize(
    ("keyword", "query"),
    [
        ("api", "rapid 怎么用"),
        ("api", "apis 怎么用"),
        ("10.0.0.1", "110.0.0.1 不通"),
        ("502", "错误5020"),
        ("пул", "тепулка 怎么用"),
        ("K8s集群", "AK8s集群怎么建"),
    ],
)
def test_k3_a_keyword_within_a_word_does_not_match(keyword: str, query: str) -> None:
    assert tier_of(keyword, query) is None


@pytest.mark.parametrize(
    ("keyword", "query"),
    [
        ("ERR_TIMEOUT", "报错ERR_TIMEOUT怎么办"),
        ("itgc", "重跑gen-itgc后"),
        ("timeout", "ERR_TIMEOUT 是什么"),
        ("timeout", "ERR_TIMEOUT"),
        ("api", "open.api/v1"),
        ("api", "rapid 和 API"),
        ("K8s集群", "如何扩容k8s 集群呢"),
        ("C++", "c++语言怎么学"),
        (".NET", "在.net上部署"),
        ("10.0.0.1", "连接10.0.0.1:8848失败"),
        ("502", "网关报502错误"),
        ("connection pool", "the Connection \n Pool is full"),
        ("Redis 缓存", "redis缓存怎么配"),
        ("Redis缓存", "怎么配 Redis 缓存 呢"),
        ("连接池 耗尽", "为什么连接池 耗尽了"),
        ("连接池\u3000耗尽？", "为什么连接池 耗尽了"),
        ("连接池 耗尽", "为什么连接池耗尽了"),
        ("连接池", "连接池 耗尽"),
        ("为什么超时？", "请问为什么超时呢"),
        ("café", "un café noir"),
    ],
)
def test_k3_a_whole_keyword_matches_between_word_edges(keyword: str, query: str) -> None:
    assert tier_of(keyword, query) is MatchTier.CONTAINED


@pytest.mark.parametrize(
    ("keyword", "query"), [("锁", "分布式锁怎么用"), ("C", "C 语言怎么学"), ("时间", "超时 间隔是多少")]
)
def test_k3_one_character_and_characters_of_two_words_do_not_match(keyword: str, query: str) -> None:
    assert tier_of(keyword, query) is None


@pytest.mark.parametrize(
    ("keyword", "query"),
    [
        ("支付网关", "支付"),
        ("支付网关", "付网？"),
        ("ERR_TIMEOUT", "timeout"),
        ("ERR_TIMEOUT_GATEWAY", "err_timeout"),
        ("ConnectionPool", "pool"),
        ("HikariConnectionPool", "connectionpool"),
        ("payment-pay", "pay"),
        ("K8s集群", "k8s"),
        ("连接池耗尽告警", "连接池 耗尽"),
    ],
)
def test_k2_a_query_that_is_part_of_a_keyword_matches(keyword: str, query: str) -> None:
    assert tier_of(keyword, query) is MatchTier.PARTIAL


@pytest.mark.parametrize(
    ("keyword", "query"),
    [("payment", "pay"), ("connectionpool", "pool"), ("ERR_TIMEOUT", "er"), ("支付网关", "支"), ("rapid", "api")],
)
def test_k3_a_part_that_cuts_words_or_is_too_short_does_not_match(keyword: str, query: str) -> None:
    assert tier_of(keyword, query) is None


def test_k2_a_title_is_not_matched_by_its_parts() -> None:
    assert tier_of("x", "错误码", title="支付网关错误码定义") is None


@pytest.mark.parametrize(
    ("keyword", "query"),
    [("超时", "超时？"), ("C", "c"), ("锁", "锁。"), ("连接池耗尽", "连接池 耗尽"), ("err_a", '"ERR_A"'), ("::", "::")],
)
def test_k5_a_query_that_is_the_keyword_is_exact(keyword: str, query: str) -> None:
    assert tier_of(keyword, query) is MatchTier.EXACT


@pytest.mark.parametrize(
    ("title", "query", "tier"),
    [
        ("超时排查", "超时排查", MatchTier.EXACT),
        ("FAQ", "faq?", MatchTier.EXACT),
        ("超时排查", "请问超时排查怎么做", MatchTier.CONTAINED),
        ("Connection Pool", "the connection pool is full", MatchTier.CONTAINED),
        ("超时", "请问超时怎么办", None),
        ("Overview", "give me an overview of it", None),
        ("Pool Size", "the spool size", None),
    ],
)
def test_k5_titles_match_whole_when_long_enough(title: str, query: str, tier: MatchTier | None) -> None:
    assert tier_of("无关", query, title=title) is tier


def test_k5_err_timeout_stays_unique_beside_timeout(payment: KeywordIndex) -> None:
    payment.put(entry("z.md", "timeout"))
    assert paths(payment, "err_timeout") == [PAYMENT]
    assert paths(payment, "timeout") == ["z.md"]


def test_k5_the_entry_with_more_and_longer_keywords_comes_first(payment: KeywordIndex) -> None:
    payment.put(entry("a.md", "超时"))
    assert paths(payment, "支付网关超时问题") == [PAYMENT, "a.md"]
    assert payment.match("支付网关超时问题")[0].matched == (
        MatchedKeyword("支付网关", MatchTier.CONTAINED, is_title=False),
        MatchedKeyword("超时", MatchTier.CONTAINED, is_title=False),
    )


def test_k5_the_rarer_keyword_comes_first() -> None:
    index = index_of(entry("a.md", "缓存"), entry("b.md", "缓存"), entry("c.md", "超时"))
    assert paths(index, "缓存超时了") == ["c.md", "a.md", "b.md"]


def test_k5_the_nearest_keyword_comes_first_among_parts() -> None:
    index = index_of(entry("a.md", "支付网关平台"), entry("b.md", "支付网关"))
    assert paths(index, "支付") == ["b.md", "a.md"]


def test_k5_a_keyword_that_occurs_twice_counts_once() -> None:
    index = index_of(entry("a.md", "超时"))
    assert index.match("超时又超时了")[0].score == index.match("超时了")[0].score


def test_k4_all_matches_come_by_path_whatever_the_order_of_additions() -> None:
    entries = [entry("b.md", "超时"), entry("api/z.md", "超时"), entry("a.md", "超时"), entry("c.md", "限流")]
    for order in itertools.permutations(entries):
        index = KeywordIndex(MatchRules())
        for one in order:
            index.put(one)
        assert paths(index, "超时") == ["a.md", "api/z.md", "b.md"]
        assert [one.path for one in index.entries()] == ["a.md", "api/z.md", "b.md", "c.md"]


def test_k4_of_two_entries_with_one_path_the_later_counts() -> None:
    index = index_of(entry("a.md", "超时"), entry("a.md", "限流"))
    assert len(index) == 1
    assert paths(index, "超时") == []


def test_k4_only_so_many_partly_matching_keywords_are_looked_at_the_shortest_first() -> None:
    index = index_of(*(entry(f"{n:04}.md", "支付" + "网" * n) for n in range(1, PARTIAL_LIMIT + 2)))
    assert sorted(paths(index, "支付")) == [f"{n:04}.md" for n in range(1, PARTIAL_LIMIT + 1)]
    index.put(entry("0000.md", "新支付"))
    assert sorted(paths(index, "支付")) == [f"{n:04}.md" for n in range(PARTIAL_LIMIT)]


def many(common: int, total: int) -> KeywordIndex:
    """``common`` of ``total`` entries hold ``nacos``, the first of them ``鉴权`` besides."""
    rest = [entry(f"{n:03}.md", "nacos" if n < common else f"k{n:03}") for n in range(1, total)]
    return index_of(entry("000.md", "nacos", "鉴权"), *rest)


def test_k10_a_common_keyword_alone_is_no_match() -> None:
    assert many(common=6, total=60).match("nacos 是什么") != []
    assert many(common=7, total=60).match("nacos 是什么") == []
    assert many(common=49, total=49).match("nacos 是什么") != []


def test_k10_a_common_keyword_adds_to_another() -> None:
    index = many(common=7, total=60)
    [match] = index.match("nacos 的鉴权")
    [without] = index.match("它的鉴权")
    assert [one.keyword for one in match.matched] == ["nacos", "鉴权"]
    assert match.score > without.score


def test_k10_a_query_that_is_a_common_keyword_matches_in_no_tier() -> None:
    index = many(common=7, total=60)
    index.put(entry("sync.md", "nacos-sync"))
    assert paths(index, "nacos") == []
    index.put(entry("title.md", "x", title="Nacos"))
    assert paths(index, "nacos") == ["title.md"]


@pytest.mark.parametrize(
    ("query", "coverage"),
    [
        ("支付网关", 1.0),
        ("支付网关超时", 1.0),
        ("支付", 1.0),
        ("有部叫支付网关的武侠小说讲了什么", 4 / 16),
        ("支付网关超时问题？", 6 / 8),
        ("超时, 超时, 还是超时", 6 / 8),
    ],
)
def test_k11_coverage_is_the_share_of_the_query_that_keywords_explain(
    payment: KeywordIndex, query: str, coverage: float
) -> None:
    assert math.isclose(payment.match(query)[0].coverage, coverage)


def test_u7_a_removed_entry_is_gone_and_an_unknown_path_is_ignored(payment: KeywordIndex) -> None:
    payment.remove("nowhere.md")
    assert payment.entry(PAYMENT) is not None
    payment.remove(PAYMENT)
    assert payment.match("超时") == []
    assert payment.entry(PAYMENT) is None
    assert len(payment) == 0


def test_u5_a_changed_entry_answers_with_its_new_keywords_only(payment: KeywordIndex) -> None:
    payment.put(entry(PAYMENT, "限流"))
    assert payment.match("超时") == []
    assert paths(payment, "限流") == [PAYMENT]
    assert len(payment) == 1
