"""When a step of a plan may still be looked up (000 §5); every rule is tested with numbers of its own."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.lookup_result import Confidence, LookupResult, PrimaryResult, SupplementResult
from kbapp.domain.plan_rules import (
    Ask,
    Heard,
    Leave,
    Plan,
    Rules,
    heard_of,
    marked,
    misses_in_a_row,
    rule_on,
    word_similarities,
)
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.tokens import content_tokens, tokens_of
from kbapp.domain.transcript import ExecutorCall, SkipCause, SkipKind

STRICT = Rules(new_words=0, closeness_weight=0)  # any new word is worth a call
STEPS = ("连接池 配置", "HikariCP 参数", "缓存 击穿", "支付网关 超时")


def plan_of(*steps: str) -> Plan:
    return Plan(steps, word_similarities(steps))


def heard(
    query: str, level: RelevanceLevel | None, step: int = 0, words: str = "", domains: tuple[str, ...] = ("api",)
) -> Heard:
    return Heard(step, query, level, domains, frozenset(tokens_of(f"{query} {words}")))


def letters(text: str) -> list[str]:
    return [character for character in text if character.isalnum()]


def call(
    level: RelevanceLevel, primary: PrimaryResult | None = None, supplement: SupplementResult | None = None
) -> ExecutorCall:
    return ExecutorCall(
        1, "连接池", "上限", None, LookupResult(True, primary, supplement, level, None, (), None, None, None, "i")
    )


def test_the_first_step_is_always_looked_up() -> None:
    assert rule_on(plan_of(*STEPS), [], 0, Rules(99, 99)) == Ask()


def test_a_step_whose_words_were_all_asked_or_given_is_left() -> None:
    plan = plan_of("连接池", "连接池 参数")
    assert isinstance(rule_on(plan, [heard("连接池", RelevanceLevel.PRECISE, words="参数表")], 1, STRICT), Leave)
    assert isinstance(rule_on(plan, [heard("连接池", RelevanceLevel.PRECISE)], 1, STRICT), Ask)


def test_a_step_may_bring_as_few_new_words_as_the_rules_say_and_still_be_a_repeat() -> None:
    plan = plan_of("连接池", "连接 alpha beta gamma")
    earlier = [heard("连接池", RelevanceLevel.PRECISE)]
    assert isinstance(rule_on(plan, earlier, 1, Rules(3, 0)), Leave)
    assert isinstance(rule_on(plan, earlier, 1, Rules(2, 0)), Ask)


def test_a_short_step_of_which_nothing_was_asked_is_another_question() -> None:
    plan = plan_of("连接池", "Nginx", "Nginx 配置")
    earlier = [heard("连接池", RelevanceLevel.PRECISE)]
    assert isinstance(rule_on(plan, earlier, 1, Rules(99, 0)), Ask)
    assert isinstance(rule_on(plan, [*earlier, heard("Nginx", RelevanceLevel.PRECISE, 1)], 2, Rules(99, 0)), Leave)


def test_a_step_near_to_an_earlier_one_needs_more_new_words() -> None:
    steps = ("alpha", "beta gamma", "delta epsilon")
    near = np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], dtype=np.float32)
    plan = Plan(steps, near)
    earlier = [heard("alpha", RelevanceLevel.HIGHLY_RELEVANT)]
    assert isinstance(rule_on(plan, earlier, 1, Rules(0, 4)), Leave)
    assert isinstance(rule_on(plan, earlier, 2, Rules(0, 4)), Ask)


def test_a_near_step_names_what_is_missing_and_a_far_one_does_not() -> None:
    near = np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], dtype=np.float32)
    plan = Plan(("连接池", "连接池 泄漏检测", "缓存"), near)
    earlier = [heard("连接池", RelevanceLevel.REFERENCE)]
    assert rule_on(plan, earlier, 1, STRICT) == Ask("泄漏检测")
    assert rule_on(plan, earlier, 2, STRICT) == Ask()


def test_m7_three_misses_in_a_row_end_the_search() -> None:
    plan = plan_of("a1", "b2", "c3", "d4")
    misses = [heard(f"q{number}", None, number, domains=()) for number in range(3)]
    ruling = rule_on(plan, misses, 3, STRICT)
    assert isinstance(ruling, Leave)
    assert "3 searches in a row found nothing" in ruling.reason
    assert isinstance(rule_on(plan, misses[:2], 3, STRICT), Ask)


@pytest.mark.parametrize(
    ("level", "reason"),
    [
        (RelevanceLevel.PRECISE, "the question is answered: “连接池” was PRECISE"),
        (RelevanceLevel.HIGHLY_RELEVANT, "the domain api is retrieved: “连接池” was HIGHLY_RELEVANT"),
        (RelevanceLevel.REFERENCE, "no dimension to name that “连接池” lacks: it was a REFERENCE"),
        (RelevanceLevel.DEDUPED, "asks again for what this session has: “连接池” was DEDUPED"),
        (None, "asks again for what was not found: “连接池”"),
    ],
)
def test_a_step_that_is_left_says_why(level: RelevanceLevel | None, reason: str) -> None:
    ruling = rule_on(plan_of("连接池", "连接池"), [heard("连接池", level)], 1, STRICT)
    assert isinstance(ruling, Leave)
    assert ruling.reason == reason
    kind = SkipKind[level.name] if level else SkipKind.NOT_FOUND
    domain = "api" if level is RelevanceLevel.HIGHLY_RELEVANT else ""
    assert ruling.cause == SkipCause(kind, "连接池", domain)


def test_misses_are_counted_since_the_last_hit_and_a_blocked_repeat_is_neither() -> None:
    levels = (None, RelevanceLevel.PRECISE, None, RelevanceLevel.DEDUPED, None)
    assert misses_in_a_row([heard("q", level) for level in levels]) == 2


def test_what_is_heard_of_a_summary_is_its_text_its_sections_and_its_domain() -> None:
    summary = PrimaryResult("正文", "kb/api/a.md", "支付", Confidence.HIGH, ("签名",))
    told = heard_of(call(RelevanceLevel.PRECISE, primary=summary), 2)
    assert (told.step, told.query, told.domains) == (2, "连接池", ("api",))
    assert {"正文", "支付", "签名", "上限", "连接"} <= told.words


def test_metadata_alone_and_the_text_of_a_reference_answer_nothing() -> None:
    mention = PrimaryResult("关键词", "kb/api/a.md", "支付", Confidence.LOW, None)
    chunk = SupplementResult("击穿", "kb/cache.md", "B", "B")
    beside = heard_of(call(RelevanceLevel.HIGHLY_RELEVANT, primary=mention, supplement=chunk), 0)
    assert beside.domains == ("general",)
    assert "击穿" in beside.words
    assert not beside.words & {"关键", "支付"}
    reference = heard_of(call(RelevanceLevel.REFERENCE, supplement=chunk), 0)
    assert "击穿" not in reference.words
    assert "连接" in reference.words


def test_the_marked_parts_of_a_text_are_kept_as_written() -> None:
    assert marked("怎样设置 Connection-Timeout 的上限", content_tokens("connection-timeout 上限")) == (
        "Connection-Timeout 上限"
    )
    assert marked("连接池", []) == ""


@given(st.text("abC7 连接池_-", max_size=40))
def test_marking_all_tokens_of_a_text_keeps_all_its_letters(text: str) -> None:
    assert letters(marked(text, tokens_of(text))) == letters(text)


@given(st.text(max_size=40), st.lists(st.text(min_size=1, max_size=3)))
def test_marking_adds_nothing(text: str, words: list[str]) -> None:
    left = iter(unicodedata.normalize("NFKC", text) + unicodedata.normalize("NFKC", text).lower())
    assert all(character in left for character in "".join(marked(text, words).split()))


def test_closeness_is_near_one_for_the_same_sentence_and_nought_for_what_is_no_nearer_than_most() -> None:
    similarities = np.array([[1, 0.9, 0.8], [0.9, 1, 0.8], [0.8, 0.8, 1]], dtype=np.float32)
    closeness = Plan(("a", "b", "c"), similarities).closeness
    assert closeness[0, 2] == 0
    assert 0 < closeness[0, 1] < 1
    assert closeness.diagonal().min() > 0.8
    assert Plan(("a",), np.ones((1, 1), dtype=np.float32)).closeness.tolist() == [[1]]


@given(st.lists(st.text(max_size=20), max_size=5))
def test_words_in_common_make_texts_alike_both_ways(texts: list[str]) -> None:
    similarities = word_similarities(texts)
    assert similarities.shape == (len(texts), len(texts))
    assert np.array_equal(similarities, similarities.T)
    assert (similarities.diagonal() == 1).all()
    assert ((similarities >= 0) & (similarities <= 1 + 1e-6)).all()


@given(st.sampled_from(STEPS), st.floats(0, 5), st.floats(0, 5), st.sampled_from(list(RelevanceLevel)))
def test_the_same_step_again_is_left_under_any_rules(
    step: str, new_words: float, closeness: float, level: RelevanceLevel
) -> None:
    plan = plan_of(step, step, *STEPS)
    assert isinstance(rule_on(plan, [heard(step, level)], 1, Rules(new_words, closeness)), Leave)
