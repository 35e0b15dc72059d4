"""What a transcript is worth: calls, content, repeats, characters given twice, needed documents covered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.lookup_result import Confidence, DedupReason, LookupResult, PrimaryResult, SupplementResult
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.simulation_metrics import SHINGLE_CHARACTERS, measure, repeated_characters, total_of
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import Entry, ExecutorCall, ExecutorKind, SkippedStep, Transcript

TASK = Task("t", "g", ("q1", "q2", "q3"), ("api/a.md", "api/b.md"))
BODY = "".join(chr(0x4E00 + number) for number in range(100))
OTHER_BODY = "".join(chr(0x5E00 + number) for number in range(100))


def primary(content: str, sections: tuple[str, ...] | None = (), source: str = "kb/api/a.md") -> PrimaryResult:
    return PrimaryResult(content, source, "A", Confidence.HIGH, sections)


def supplement(content: str, source: str = "kb/api/b.md") -> SupplementResult:
    return SupplementResult(content, source, "B", "B")


def call(
    first: PrimaryResult | None = None,
    second: SupplementResult | None = None,
    reason: DedupReason | None = None,
    section: str | None = None,
) -> ExecutorCall:
    level = RelevanceLevel.DEDUPED if reason else RelevanceLevel.PRECISE if first or second else None
    result = LookupResult(level is not None, first, second, level, None, (), None, reason, None, "i")
    return ExecutorCall(1, "q", None, section, result)


def transcript(*entries: Entry) -> Transcript:
    return Transcript("t", ExecutorKind.UNCONSTRAINED, entries)


def test_calls_repeats_and_misses_are_counted_and_skipped_steps_are_no_calls() -> None:
    figures = measure(
        TASK,
        transcript(
            call(primary(f"文档: A\n---\n{BODY}")),
            call(reason=DedupReason.DOC_RETRIEVED),
            call(reason=DedupReason.DOC_RETRIEVED),
            call(reason=DedupReason.DOMAIN_RETRIEVED),
            call(),
            SkippedStep(2, "q2", "the question is answered"),
        ),
        "kb",
    )
    assert figures.to_dict() == {
        "steps": 3,
        "calls": 5,
        "calls_with_content": 1,
        "repeats_blocked": {"doc_retrieved": 2, "domain_retrieved": 1},
        "documents_given": 1,
        "characters_given": 110,
        "characters_given_twice": 0,
        "needed": 2,
        "needed_covered": 1,
    }


def test_a_document_of_which_only_metadata_was_given_is_not_covered() -> None:
    mention = primary("文档: A\n来源: api/a.md", sections=None)
    figures = measure(TASK, transcript(call(mention, supplement(BODY, "kb/api/c.md"))), "kb")
    assert (figures.documents_given, figures.needed_covered) == (1, 0)
    assert figures.characters_given == len(mention.content) + 100


def test_a_summary_without_body_text_covers_nothing() -> None:
    assert measure(TASK, transcript(call(primary("文档: A\n摘要: 无正文"))), "kb").needed_covered == 0


def test_a_section_that_was_asked_for_is_body_text_throughout() -> None:
    asked = call(primary(f"{BODY}\n---\n{OTHER_BODY}"), section="超时")
    again = call(second=supplement(BODY))
    assert measure(TASK, transcript(asked, again), "kb").characters_given_twice == 100


def test_metadata_in_place_of_a_section_that_cannot_be_read_covers_nothing() -> None:
    unreadable = call(primary("文档: A\n来源: api/a.md", sections=None), section="超时")
    assert measure(TASK, transcript(unreadable), "kb").needed_covered == 0


def test_a_section_that_is_not_there_covers_nothing() -> None:
    assert measure(TASK, transcript(call(primary("", ("签名",)), section="超时")), "kb").needed_covered == 0


def test_the_head_of_a_summary_may_come_again() -> None:
    head = f"文档: {BODY}\n章节:\n- {OTHER_BODY}"
    figures = measure(TASK, transcript(call(primary(f"{head}\n---\nx")), call(primary(f"{head}\n---\ny"))), "kb")
    assert figures.characters_given_twice == 0


def test_text_that_comes_again_is_counted_whatever_its_document_and_its_white_space() -> None:
    again = supplement(f"{OTHER_BODY[:30]}\n{BODY[:25]}\n\n {BODY[25:60]}", "kb/api/copy.md")
    figures = measure(TASK, transcript(call(second=supplement(BODY)), call(second=again)), "kb")
    assert figures.characters_given_twice == 60


def test_a_needed_document_counts_once_however_often_it_is_given() -> None:
    given_thrice = transcript(*(call(second=supplement(text)) for text in (BODY, OTHER_BODY, "x")))
    figures = measure(TASK, given_thrice, "kb")
    assert (figures.documents_given, figures.needed_covered, figures.needed) == (1, 1, 2)


def test_totals_are_sums() -> None:
    one = measure(TASK, transcript(call(second=supplement(BODY)), call(reason=DedupReason.DOC_RETRIEVED)), "kb")
    total = total_of([one, one, measure(TASK, transcript(), "kb")])
    assert (total.calls, total.calls_with_content, total.characters_given, total.needed) == (4, 2, 200, 6)
    assert total.repeats_blocked[DedupReason.DOC_RETRIEVED] == 2
    assert total_of([]).to_dict()["repeats_blocked"] == {"doc_retrieved": 0, "domain_retrieved": 0}


def test_fewer_than_40_characters_in_a_row_are_no_repeat_in_a_longer_text() -> None:
    assert repeated_characters([BODY, OTHER_BODY + BODY[:39]]) == 0
    assert repeated_characters([BODY, OTHER_BODY + BODY[:40]]) == 40


def test_a_short_text_is_a_repeat_when_an_earlier_one_holds_all_of_it() -> None:
    assert repeated_characters([BODY, BODY[10:20], OTHER_BODY, BODY[20:30] + "x"]) == 10
    assert repeated_characters(["", " ", ""]) == 0


def test_a_text_that_repeats_itself_is_given_once() -> None:
    assert repeated_characters([BODY + BODY]) == 0


@given(st.lists(st.text("ab ", max_size=120), max_size=4), st.text("ab ", max_size=120))
def test_a_shingle_is_counted_just_when_an_earlier_text_holds_it(earlier: list[str], last: str) -> None:
    squeezed = ["".join(text.split()) for text in [*earlier, last]]
    text = squeezed.pop()
    length = min(SHINGLE_CHARACTERS, len(text))
    marked = {
        position
        for start in range(len(text) - length + 1)
        for position in range(start, start + length)
        if any(text[start : start + length] in other for other in squeezed)
    }
    assert repeated_characters([*earlier, last]) - repeated_characters(earlier) == len(marked)
