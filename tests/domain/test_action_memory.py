from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.domain.action_memory import (
    DedupRequest,
    DomainPolicy,
    EarlierCall,
    Give,
    GivenText,
    RetrievedDocTracker,
    SessionMemory,
    Withhold,
    decide,
)
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel

PRECISE, HIGH, REFERENCE = RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT, RelevanceLevel.REFERENCE
POOL_TEXT = "数据库连接池配置：HikariCP 参数的基线，连接池耗尽的征兆。"


def text(
    document: str, words: str = "正文", level: RelevanceLevel = HIGH, part: str = "c1", **values: str
) -> GivenText:
    fields = {"document_hash": f"hash of {document}", "text_hash": f"{document}/{part}/{words}"} | values
    return GivenText(document, document.split("/")[0], level, part=part, text=words, **fields)


def call(query: str, *given: GivenText, dimension: str | None = None, number: str = "i1") -> EarlierCall:
    return EarlierCall(number, "2026-11-30T00:00:00Z", query, dimension, tuple({t.domain: 0 for t in given}), given)


def memory(*calls: EarlierCall) -> SessionMemory:
    return SessionMemory(calls)


AFTER_POOL = memory(call("数据库连接池配置", text("infrastructure/pool.md", POOL_TEXT)))


def reason(decision: Give | Withhold) -> DedupReason | None:
    return decision.reason if isinstance(decision, Withhold) else None


def judge(
    of: SessionMemory, query: str, *offers: GivenText, policy: DomainPolicy = DomainPolicy.BLOCK, **request: object
) -> Give | Withhold:
    return decide(of, DedupRequest(query, **request), offers, policy)  # type: ignore[arg-type]


def test_m3_what_was_not_given_is_given() -> None:
    assert judge(memory(), "x", text("api/a.md")) == Give(0)


def test_m3_a_document_is_not_given_twice_whatever_the_wording() -> None:
    decision = judge(AFTER_POOL, "完全不同的问法", text("infrastructure/pool.md", "另一段", part="c9"))
    assert reason(decision) is DedupReason.DOC_RETRIEVED
    assert isinstance(decision, Withhold)
    assert decision.earlier.query == "数据库连接池配置"


def test_m3_the_next_document_is_given_only_when_its_own_level_is_the_same() -> None:
    again = text("infrastructure/pool.md", POOL_TEXT)
    assert judge(AFTER_POOL, "别的", again, text("api/b.md", level=HIGH)) == Give(1)
    assert reason(judge(AFTER_POOL, "别的", again, text("api/b.md", level=REFERENCE))) is DedupReason.DOC_RETRIEVED


def test_m4_leftovers_do_not_take_the_place_of_what_is_asked_again() -> None:
    again = text("infrastructure/pool.md", POOL_TEXT)
    decision = judge(AFTER_POOL, "连接池耗尽", again, text("troubleshooting/timeout.md", "超时"))
    assert reason(decision) is DedupReason.DOC_RETRIEVED


def test_m3_a_precise_document_is_not_given_twice_either() -> None:
    before = memory(call("ERR_TIMEOUT", text("api/pay.md", level=PRECISE, part="")))
    assert reason(judge(before, "ERR_TIMEOUT", text("api/pay.md", level=PRECISE, part=""))) is DedupReason.DOC_RETRIEVED


def test_m3_the_same_text_in_two_documents_counts_as_one() -> None:
    before = memory(call("q", text("api/a.md", text_hash="T")))
    assert reason(judge(before, "q2", text("guides/copy.md", text_hash="T"))) is DedupReason.DOC_RETRIEVED
    twin = text("guides/twin.md", "其他段", document_hash="hash of api/a.md")
    assert reason(judge(before, "q2", twin)) is DedupReason.DOC_RETRIEVED


def test_m5_a_document_that_changed_since_is_new_again() -> None:
    changed = text("infrastructure/pool.md", "新正文", document_hash="other")
    assert judge(AFTER_POOL, "别的问题", changed) == Give(0)


def test_m3_a_mention_marks_the_domain_and_not_the_document() -> None:
    before = memory(EarlierCall("i", "t", "超时", None, ("api",), ()))
    assert before.domains == ("api",)
    assert judge(before, "超时", text("api/a.md")) == Give(0)


@pytest.mark.parametrize("query", ["HikariCP 参数", "连接池耗尽", "数据库的连接池怎么配置？"])
def test_m4_asking_again_for_what_the_domain_gave_is_blocked(query: str) -> None:
    decision = judge(AFTER_POOL, query, text("infrastructure/spring.md", "Spring 数据源"))
    assert reason(decision) is DedupReason.DOMAIN_RETRIEVED


@pytest.mark.parametrize("query", ["Nginx 反向代理配置", "Kafka 消息积压怎么处理", "Redis 大 key"])
def test_m4_a_really_different_question_in_the_same_domain_passes(query: str) -> None:
    assert judge(AFTER_POOL, query, text("infrastructure/nginx.md", "反向代理")) == Give(0)


def test_m4_another_domain_passes() -> None:
    assert judge(AFTER_POOL, "HikariCP 参数", text("troubleshooting/pool.md")) == Give(0)


@pytest.mark.parametrize("level", [PRECISE, REFERENCE])
def test_m4_precise_and_reference_answers_pass(level: RelevanceLevel) -> None:
    assert judge(AFTER_POOL, "HikariCP 参数", text("infrastructure/spring.md", level=level)) == Give(0)


def test_m4_a_domain_that_gave_only_references_does_not_block() -> None:
    before = memory(call("数据库连接池配置", text("infrastructure/pool.md", POOL_TEXT, REFERENCE)))
    assert judge(before, "HikariCP 参数", text("infrastructure/spring.md")) == Give(0)


def test_m4_policies_off_and_warn() -> None:
    offer = text("infrastructure/spring.md")
    assert judge(AFTER_POOL, "HikariCP 参数", offer, policy=DomainPolicy.OFF) == Give(0)
    warned = judge(AFTER_POOL, "HikariCP 参数", offer, policy=DomainPolicy.WARN)
    assert isinstance(warned, Give)
    assert warned.warning == AFTER_POOL.calls[0]


def test_m4_a_missing_dimension_passes_for_what_was_not_given() -> None:
    other_chunk = text("infrastructure/pool.md", "泄漏检测的阈值", part="c7")
    assert judge(AFTER_POOL, "连接池", other_chunk, dimension="泄漏检测阈值") == Give(0)
    assert judge(AFTER_POOL, "连接池耗尽", text("infrastructure/spring.md"), dimension="读写分离") == Give(0)
    same_chunk = text("infrastructure/pool.md", POOL_TEXT)
    assert reason(judge(AFTER_POOL, "连接池", same_chunk, dimension="泄漏检测阈值")) is DedupReason.DOC_RETRIEVED


@pytest.mark.parametrize("dimension", ["", "数据库连接池配置", "连接池耗尽", "数据库连接池的配置"])
def test_m4_a_dimension_that_is_empty_or_repeats_does_not_count(dimension: str) -> None:
    offer = text("infrastructure/spring.md")
    assert reason(judge(AFTER_POOL, "连接池耗尽", offer, dimension=dimension)) is DedupReason.DOMAIN_RETRIEVED


def test_m4_a_dimension_is_new_only_once() -> None:
    before = AFTER_POOL.with_call(call("连接池", text("infrastructure/x.md"), dimension="泄漏检测阈值"))
    assert not before.is_new_dimension("连接池", "泄漏检测阈值")


def test_m4_a_section_passes_until_it_was_given() -> None:
    section = text("infrastructure/pool.md", "泄漏检测", part="section:泄漏检测")
    assert judge(AFTER_POOL, "连接池", section, section="泄漏检测") == Give(0)
    after = AFTER_POOL.with_call(call("连接池", section))
    assert reason(judge(after, "连接池", section, section="泄漏检测")) is DedupReason.DOC_RETRIEVED


def test_m5_force_gives_what_was_given() -> None:
    assert judge(AFTER_POOL, "数据库连接池配置", text("infrastructure/pool.md", POOL_TEXT), force=True) == Give(0)


def tracker(clock: list[float], *, idle: float = 900, most: int = 1024) -> RetrievedDocTracker:
    return RetrievedDocTracker(idle_seconds=idle, max_sessions=most, clock=lambda: clock[0])


def test_m1_the_tracker_of_the_documents() -> None:
    known = tracker([0.0])
    known.mark_retrieved("s", "infrastructure", "infrastructure/a.md", HIGH)
    known.mark_retrieved("s", "api", "api/b.md", PRECISE)
    known.mark_retrieved("s", "infrastructure", "infrastructure/c.md", HIGH)
    assert known.is_doc_retrieved("s", "api/b.md")
    assert not known.is_doc_retrieved("s", "api/z.md")
    assert known.is_domain_retrieved("s", "api")
    assert known.get_retrieved_domains("s") == ("infrastructure", "api")
    assert known.get_retrieved_domains("other") == ()
    known.clear_session("s")
    assert known.get_retrieved_domains("s") == ()


def test_m1_calls_without_a_session_share_nothing() -> None:
    known = tracker([0.0])
    known.mark_retrieved(None, "api", "api/a.md", HIGH)
    assert known.get_retrieved_domains(None) == ()


def test_m5_idle_sessions_expire_and_their_number_is_bounded() -> None:
    clock = [0.0]
    known = tracker(clock, idle=60, most=2)
    for name in ("a", "b", "c"):
        known.mark_retrieved(name, "api", "api/a.md", HIGH)
    assert [known.is_domain_retrieved(name, "api") for name in ("a", "b", "c")] == [False, True, True]
    clock[0] = 50
    known.mark_retrieved("b", "domain", "domain/b.md", HIGH)
    clock[0] = 70
    assert known.get_retrieved_domains("c") == ()
    assert known.get_retrieved_domains("b") == ("api", "domain")


def test_m1_threads_lose_nothing_and_sessions_never_mix() -> None:
    known = tracker([0.0])

    def work(session: str) -> None:
        for number in range(50):
            known.mark_retrieved(session, session, f"{session}/{number}.md", HIGH)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "a", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, calls in (("a", 100), ("b", 50), ("c", 50)):
        held = known.memory(name)
        assert held is not None
        assert len(held.calls) == calls
        assert held.domains == (name,)


calls_strategy = st.lists(
    st.builds(
        call,
        st.sampled_from(["连接池", "超时", "x"]),
        st.builds(text, st.sampled_from(["api/a.md", "api/b.md", "domain/c.md"]), st.sampled_from(["甲乙", "丙丁"])),
    ),
    max_size=6,
)


@settings(deadline=None)
@given(calls_strategy, st.integers(0, 6))
def test_the_memory_is_the_same_whatever_the_split(calls: list[EarlierCall], at: int) -> None:
    whole, parts = tracker([0.0]), tracker([0.0])
    for one in calls:
        whole.add("s", one)
    parts.remember("s", SessionMemory(tuple(calls[:at])))
    for one in calls[at:]:
        parts.add("s", one)
    assert (whole.memory("s") or SessionMemory()) == (parts.memory("s") or SessionMemory())


@settings(deadline=None)
@given(calls_strategy, calls_strategy)
def test_more_calls_never_open_what_was_withheld(calls: list[EarlierCall], more: list[EarlierCall]) -> None:
    offer = text("api/a.md", "甲乙")
    before = judge(memory(*calls), "新的问题", offer)
    after = judge(memory(*calls, *more), "新的问题", offer)
    assert isinstance(after, Withhold) or isinstance(before, Give)
