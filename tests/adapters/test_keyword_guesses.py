"""The tiers below all others: synonyms and typos (K6)."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import KeywordMatch, MatchRules, MatchTier

PAYMENT, BREAKER, POOL = "api/payment.md", "api/breaker.md", "data/pool.md"
GROUPS = [["熔断", "circuit breaker", "断路器"], ["k8s", "Kubernetes"]]


def entry(path: str, *keywords: str, title: str = "标题") -> KnowledgeEntry:
    return KnowledgeEntry(path, title, keywords, None)


def index_of(*entries: KnowledgeEntry, synonyms: Sequence[Sequence[str]] = ()) -> KeywordIndex:
    index = KeywordIndex(MatchRules())
    index.replace(entries)
    index.use_synonyms(synonyms)
    return index


@pytest.fixture
def index() -> KeywordIndex:
    return index_of(
        entry(PAYMENT, "ERR_TIMEOUT", "ERR_1001", "超时"),
        entry(BREAKER, "circuit breaker", "Kubernetes集群", title="Circuit Breaker Settings"),
        entry(POOL, "HikariCP", "connection pool", "leakDetectionThreshold", title="Connection Pool Guide"),
        synonyms=GROUPS,
    )


def found(index: KeywordIndex, query: str) -> list[tuple[str, MatchTier]]:
    return [(match.entry.path, match.tier) for match in index.match(query)]


def only(index: KeywordIndex, query: str) -> KeywordMatch:
    [match] = index.match(query)
    return match


@pytest.mark.parametrize("query", ["熔断怎么配", "熔断", "请问 断路器 是什么", "断路器"])
def test_k6_a_synonym_in_the_query_finds_the_keyword_that_its_group_names(index: KeywordIndex, query: str) -> None:
    assert found(index, query) == [(BREAKER, MatchTier.SYNONYM)]


def test_k6_the_reason_names_the_keyword_and_the_synonym(index: KeywordIndex) -> None:
    match = only(index, "熔断怎么配")
    assert match.reason == "The query means the keyword 'circuit breaker' by the synonym '熔断'."
    assert match.coverage == pytest.approx(2 / 5)


def test_k6_a_synonym_finds_keywords_and_titles_that_stand_in_the_other_terms() -> None:
    index = index_of(
        entry("a.md", "断路"),
        entry("b.md", "breaker"),
        entry("c.md", title="Circuit Breaker"),
        entry("d.md", "Circuit Breaker 配置"),
        synonyms=[["熔断", "circuit breaker"]],
    )
    assert sorted(found(index, "服务熔断了")) == [("b.md", MatchTier.SYNONYM), ("c.md", MatchTier.SYNONYM)]


def test_k6_a_synonym_within_a_word_says_nothing(index: KeywordIndex) -> None:
    assert found(index, "mk8sx") == []


def test_k6_synonyms_are_tried_only_where_the_words_themselves_find_nothing(index: KeywordIndex) -> None:
    assert found(index, "熔断后超时") == [(PAYMENT, MatchTier.CONTAINED)]


def test_k6_several_keywords_by_synonyms_are_several_matches() -> None:
    index = index_of(entry("a.md", "限流"), entry("b.md", "流量控制", "限流"), synonyms=[["rate limit", "限流"]])
    assert [path for path, _ in found(index, "Rate  Limit 怎么设")] == ["a.md", "b.md"]


def test_k10_a_common_keyword_is_no_match_by_a_synonym_either() -> None:
    entries = [entry(f"{number}.md", "网关" if number < 10 else f"词{number}") for number in range(60)]
    assert found(index_of(*entries, synonyms=[["gateway", "网关"]]), "gateway 怎么配") == []


@pytest.mark.parametrize("query", ["网关 nignx", "网关 proxy"])
def test_k10_a_common_keyword_beside_a_guess_adds_nothing(query: str) -> None:
    entries = [entry(f"{number}.md", "网关" if number < 10 else f"词{number}") for number in range(60)]
    groups = [["网关", "gateway"], ["proxy", "nginx"]]
    match = only(index_of(*entries, entry("a.md", "nginx", "网关"), synonyms=groups), query)
    assert [matched.keyword for matched in match.matched] == ["nginx"]
    assert match.coverage == pytest.approx(5 / 7)


def test_k6_of_a_term_itself_its_group_says_nothing() -> None:
    entries = [entry(f"{number}.md", "网关" if number < 10 else f"词{number}") for number in range(60)]
    index = index_of(*entries, entry("a.md", "gateway", "网关"), synonyms=[["网关", "gateway"]])
    assert [matched.keyword for matched in only(index, "网关怎么配").matched] == ["gateway"]


def test_k6_other_synonyms_take_the_place_of_those_before(index: KeywordIndex) -> None:
    index.use_synonyms([["保险丝", "circuit breaker"]])
    assert found(index, "熔断怎么配") == []
    assert found(index, "保险丝怎么配") == [(BREAKER, MatchTier.SYNONYM)]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("ERR_TIMEOT", PAYMENT),
        ("报错err_tiemout怎么办", PAYMENT),
        ("ERX_TIMEOUT 是什么", PAYMENT),
        ("errtimeout 是什么", PAYMENT),
        ("timeot", PAYMENT),
        ("HikarCP 参数", POOL),
        ("hikarii", POOL),
        ("how large should the conection pool be", POOL),
        ("leakDetctionThreshhold 设多少", POOL),
        ("ＥＲＲ＿ＴＩＭＥＯＴ", PAYMENT),
        ("circiut breaker settings in short", BREAKER),
    ],
)
def test_k6_a_mistyped_keyword_is_found(index: KeywordIndex, query: str, path: str) -> None:
    assert found(index, query) == [(path, MatchTier.TYPO)]


def test_k6_the_reason_names_the_keyword_and_the_mistyped_word(index: KeywordIndex) -> None:
    match = only(index, "报错 ERX_TIMEOUT")
    assert match.reason == "The query nearly names the keyword 'ERR_TIMEOUT' ('erx_timeout')."
    assert match.coverage == pytest.approx(10 / 12)


@pytest.mark.parametrize(
    "query",
    [
        "ERR_1002",  # another number
        "timeot 怎么办",  # neither does "timeout 怎么办" match
        "conection",  # the title's and keyword's part, were it the whole query: see below
        "sircuit breaker",  # another first character
        "circuits breakers",
        "connectionpools",
    ],
)
def test_k6_a_mistyped_word_finds_what_the_right_word_would(index: KeywordIndex, query: str) -> None:
    right = {"conection": "connection"}.get(query)
    expected = [(path, MatchTier.TYPO) for path, _ in found(index, right)] if right else []
    assert found(index, query) == expected


def test_k6_a_word_that_the_index_knows_is_not_mistyped() -> None:
    index = index_of(entry("a.md", "spring"), entry("b.md", "x", title="String Functions and More"))
    assert found(index, "how do I split a string") == []
    index = index_of(entry("a.md", "spring"), synonyms=[["string", "字符串"]])
    assert found(index, "how do I split a string") == []
    assert found(index, "how do I split a sprin") == [("a.md", MatchTier.TYPO)]


def test_k6_the_words_of_a_document_that_went_are_known_no_more() -> None:
    index = index_of(
        *(entry(f"{number:03}.md", f"unrelated{number}") for number in range(100)), entry("a.md", "spring")
    )
    index.put(entry("b.md", "string"))
    assert found(index, "split a string") == [("b.md", MatchTier.CONTAINED)]
    index.remove("b.md")
    assert found(index, "split a string") == [("a.md", MatchTier.TYPO)]
    index.remove("a.md")
    assert found(index, "split a string") == []


def test_k6_the_words_of_a_document_that_went_from_the_large_segment_are_known_no_more() -> None:
    index = index_of(entry("a.md", "spring"), entry("b.md", "string"), entry("c.md", "strength", "Spring"))
    index.remove("b.md")
    assert [path for path, _ in found(index, "split a string")] == ["a.md", "c.md"]
    index.remove("a.md")
    assert found(index, "split a string") == [("c.md", MatchTier.TYPO)]
    index.remove("c.md")
    assert found(index, "split a string") == []


def test_k6_only_the_nearest_words_are_meant() -> None:
    index = index_of(entry("a.md", "connectionpool"), entry("b.md", "connectionport"))
    assert found(index, "connectionpol 怎么配") == [("a.md", MatchTier.TYPO)]
    assert len(found(index, "connectionpo 怎么配")) == 2


LAW = settings(deadline=None)
LETTERS = st.text(alphabet="abcfgh", min_size=5, max_size=12)
KEYWORDS = LETTERS | st.builds("{}_{}".format, LETTERS, st.text(alphabet="abc", min_size=1, max_size=6))


@LAW
@given(KEYWORDS, st.data())
def test_k6_any_one_typo_behind_the_first_character_finds_the_keyword(keyword: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(keyword) - 1))
    inserted, deleted = data.draw(st.sampled_from([("", 1), ("z", 0), ("z", 1)]))
    mistyped = keyword[:place] + inserted + keyword[place + deleted :]
    assume(len(mistyped) >= 5 and mistyped[-1] != "_" and mistyped != keyword)
    query = data.draw(st.sampled_from([mistyped, f"报错{mistyped.upper()}怎么办"]))
    [match] = index_of(entry("a.md", keyword)).match(query)
    assert match.tier is MatchTier.TYPO


@LAW
@given(LETTERS, st.integers(1, 11), st.sampled_from(["xyz", "zyxw"]))
def test_k6_three_typos_find_nothing(keyword: str, place: int, inserted: str) -> None:
    assert index_of(entry("a.md", keyword)).match(keyword[:place] + inserted + keyword[place:] + " 报错") == []
