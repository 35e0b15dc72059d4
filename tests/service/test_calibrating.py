"""Marked calls and labelled queries as cases, on real stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.adapters.full_text import FullTextIndex
from kbapp.domain.calibration import Case
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import Invocation
from kbapp.domain.labelled_queries import Kind, LabelledQuery
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.row_evidence import row_evidence
from kbapp.domain.telemetry import Feedback, MarkedCall, Verdict
from kbapp.service.calibrating import (
    MIN_LABELS,
    LeftOut,
    calibrate_by_feedback,
    calibrate_by_labels,
    left_out_text,
    marked_case,
)
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

COUNT = MIN_LABELS + 6
DIMENSION = 2048
PROFILE = f"tiny:{DIMENSION}"


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    texts = {
        f"d{n}/a.md": document(f"manual {n}", f"kw{n}", f"ledger{n} how does it settle batch{n} at night")
        for n in range(COUNT)
    }
    write_documents(tmp_path / "knowledge_base", texts)
    with open_for_test(tmp_path, TinyEmbedder(DIMENSION)) as kb:
        kb.reindex()
        yield kb


def known(n: int) -> str:
    return f"ledger{n} how does it settle batch{n}"


def unknown(n: int) -> str:
    return f"planet{n} how does it settle batch comet at night"


def looked_up(kb: KnowledgeBase, query: str, session: str | None = None) -> Invocation:
    return kb.explained_lookup(LookupRequest(query, session))[1]


def marked(call: Invocation, verdict: Verdict) -> MarkedCall:
    return MarkedCall(Feedback("f", call.id, verdict, "", ""), call)


def test_t6_marks_make_a_profile_and_the_last_one_of_a_call_counts(kb: KnowledgeBase) -> None:
    calls = [looked_up(kb, known(n)) for n in range(COUNT)]
    for call in calls:
        kb.feedback(call.id, Verdict.NOT_HELPFUL)
    for call in calls:
        kb.feedback(call.id, Verdict.HELPFUL)
    for n in range(COUNT):
        kb.feedback(looked_up(kb, unknown(n)).id, Verdict.NOT_HELPFUL)
    kb.feedback(looked_up(kb, "kw3").id, Verdict.HELPFUL)
    calibration = calibrate_by_feedback(kb)
    assert calibration.counts["in_topic"] == calibration.counts["right"] == COUNT
    assert calibration.counts["off_topic"] + sum(calibration.left_out.values()) == COUNT + 1
    assert calibration.to_dict()["left_out"]["by_keyword"] == 1  # type: ignore[index, call-overload]
    highly = RelevanceLevel.HIGHLY_RELEVANT
    assert calibration.figures.recall[highly].count > calibration.now.recall[highly].count
    assert calibration.figures.off_topic_passing[highly].count <= 1


def test_t6_a_mark_is_of_the_candidate_that_decided_the_answer(kb: KnowledgeBase) -> None:
    call = looked_up(kb, known(4))
    evidence = row_evidence(call.retrieval_details)
    assert evidence is not None
    assert evidence.decisive is not None
    assert marked_case(marked(call, Verdict.HELPFUL), PROFILE) == Case(evidence.decisive.evidence, True, True)
    assert marked_case(marked(call, Verdict.NOT_HELPFUL), PROFILE) == Case(evidence.decisive.evidence, False, False)


@pytest.mark.parametrize(
    ("level", "case"),
    [
        (RelevanceLevel.HIGHLY_RELEVANT, False),
        (RelevanceLevel.REFERENCE, LeftOut.OTHER_LEVEL),
    ],
)
def test_t6_a_wrong_level_counts_where_too_much_was_promised(
    kb: KnowledgeBase, level: RelevanceLevel, case: bool | LeftOut
) -> None:
    found = marked_case(marked(replace(looked_up(kb, known(4)), relevance_level=level), Verdict.WRONG_LEVEL), PROFILE)
    assert (found.right if isinstance(found, Case) else found) == case


def test_t6_calls_that_say_nothing_of_a_candidate_are_left_out(kb: KnowledgeBase) -> None:
    first = looked_up(kb, known(4), "s1")
    repeated = looked_up(kb, known(4), "s1")
    instead = looked_up(kb, "how does it settle batch at night ledger4", "s1")
    older = replace(first, retrieval_details={})
    reasons = [
        marked_case(marked(call, Verdict.HELPFUL), PROFILE)
        for call in (repeated, instead, looked_up(kb, "kw4"), looked_up(kb, "zqxv"), older)
    ]
    assert reasons == [
        LeftOut.DEDUPED, LeftOut.DEDUPED, LeftOut.BY_KEYWORD, LeftOut.NO_EVIDENCE, LeftOut.NO_EVIDENCE,
    ]  # fmt: skip
    assert marked_case(marked(first, Verdict.HELPFUL), "another") is LeftOut.OTHER_PROFILE
    assert instead.found


def test_t6_too_few_marks_are_refused_with_what_there_is_and_what_was_left_out(kb: KnowledgeBase) -> None:
    kb.feedback(looked_up(kb, known(1)).id, Verdict.HELPFUL)
    kb.feedback(looked_up(kb, "kw1").id, Verdict.HELPFUL)
    kb.feedback(looked_up(kb, "zqxv").id, Verdict.NOT_HELPFUL)
    with pytest.raises(UserError, match=r"there are 1 and 0 \(left out: 1 answered by a keyword alone, 1 without evid"):
        calibrate_by_feedback(kb)


def test_t6_every_reason_has_its_words() -> None:
    assert left_out_text(dict.fromkeys(LeftOut, 2)).count("2 ") == len(LeftOut)
    assert left_out_text({}) == ""


def labels() -> list[LabelledQuery]:
    asked = [LabelledQuery(f"in{n}", known(n), Kind.QUESTION, "en", (f"d{n}/a.md",)) for n in range(MIN_LABELS)]
    return asked + [LabelledQuery(f"off{n}", unknown(n), Kind.OFFTOPIC, "en") for n in range(MIN_LABELS)]


def test_g5_labels_leave_no_telemetry_and_are_judged_by_l1_whatever_l0_says(kb: KnowledgeBase) -> None:
    by_keyword = [replace(each, query=f"kw{n} {known(n)}") for n, each in enumerate(labels()[:MIN_LABELS])]
    calibration = calibrate_by_labels(kb, [*by_keyword, *labels()[MIN_LABELS:]])
    assert calibration.counts == {"in_topic": MIN_LABELS, "right": MIN_LABELS, "off_topic": MIN_LABELS}
    assert all(case.evidence.distance < 2 for case in calibration.cases)
    assert kb.telemetry() == []


def test_g5_nothing_found_is_a_case_that_is_not_right(tmp_path: Path) -> None:
    with open_for_test(tmp_path) as kb, pytest.raises(UserError, match="only 0 of 30 in-topic queries find a document"):
        calibrate_by_labels(kb, labels())


def test_g5_half_an_answer_is_none(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(*_: object) -> None:
        raise IndexUnavailable("full text is gone")

    monkeypatch.setattr(FullTextIndex, "search", unavailable)
    with pytest.raises(IndexUnavailable, match="nothing is computed, line 1 got no full answer: full text is gone"):
        calibrate_by_labels(kb, labels())
