"""What if the thresholds were others: from the rows alone, by the laws that grading has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.labelled_queries import Kind, LabelledQuery
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.relevance import CandidateEvidence, DistanceProfile, RelevanceLevel, Thresholds
from kbapp.domain.row_evidence import GradedCandidate, KeywordEvidence, RowEvidence
from kbapp.service.evaluation import QueryOutcome, evaluate, read_labels
from kbapp.service.evaluation_files import label_template, outcome_lines
from kbapp.service.evaluation_report import report_of
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.ranking import Ranking
from kbapp.service.what_if import (
    Answered,
    Case,
    Fault,
    Judged,
    cases_of,
    confusion,
    judge,
    kind_figures,
    level_figures,
    worst_first,
)
from tests.knowledge import document, open_for_test, write_documents
from tests.values import make_invocation

PRECISE, HIGHLY, REFERENCE = RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT, RelevanceLevel.REFERENCE
RANK = {None: 0, REFERENCE: 1, HIGHLY: 2, PRECISE: 3}
PROFILE = DistanceProfile("test", provisional=True)
DOCUMENTS = {
    "api/payment.md": document("支付网关错误码", "ERR_TIMEOUT, 网关", "支付网关请求超时时返回 ERR_TIMEOUT，重试三次。"),
    "api/refund.md": document("退款接口", "REFUND, 网关", "退款最晚 90 天内提交。"),
    "guides/weather.md": "# Notes\n\nWalking in the hills when the weather is fine, with a map and a flask of tea.\n",
}
LABELS = [
    ("ERR_TIMEOUT", Kind.KEYWORD, ["api/payment.md"]),
    ("REFUND", Kind.KEYWORD, ["api/payment.md"]),  # a wrong label
    ("网关", Kind.BROAD, ["api/payment.md", "api/refund.md"]),
    ("退款最晚几天内提交", Kind.QUESTION, ["api/refund.md"]),
    ("weather in the hills", Kind.QUESTION, ["guides/weather.md"]),
    ("支付请求 重试几次", Kind.PARAPHRASE, ["api/payment.md"]),
    ("zqxv blorp", Kind.OFFTOPIC, []),
    ("提交 hills", Kind.OFFTOPIC, []),
]


@pytest.fixture
def kb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KnowledgeBase]:
    monkeypatch.chdir(tmp_path)  # where applied thresholds are written
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, retrieval__fusion__min_documents="1") as kb:
        kb.reindex()
        yield kb


def outcomes_of(kb: KnowledgeBase) -> tuple[QueryOutcome, ...]:
    lines = [
        json.dumps({"id": query, "query": query, "kind": kind, "relevant": relevant})
        for query, kind, relevant in LABELS
    ]
    return evaluate(kb, read_labels("\n".join(lines), kb))


@pytest.mark.parametrize("bounds", [(0.5, 0.75), (0.0, 0.1), (0.2, 0.3), (0.3, 1.0), (1.0, 1.0)])
def test_at_the_thresholds_in_force_the_what_if_is_the_outcomes_and_their_report(
    kb: KnowledgeBase, bounds: tuple[float, float]
) -> None:
    elsewhere = cases_of(outcomes_of(kb))
    assert kb.apply_thresholds(reference=bounds[0], highly_relevant=bounds[1]).parent == Path.cwd()
    outcomes = outcomes_of(kb)
    report = report_of(outcomes)
    for cases in (cases_of(outcomes), elsewhere):  # also of rows that were judged by others
        judged = judge(cases, kb.thresholds)
        assert [each.level for each in judged] == [each.level for each in outcomes]
        assert [each.document for each in judged] == [next(iter(each.given), None) for each in outcomes]
        assert [each.answered is Answered.RIGHT for each in judged] == [each.is_right for each in outcomes]
        figures = level_figures(judged)
        assert figures.right == report.given.overall.documents.recall[1]
        assert figures.right_highly == report.in_topic_highly_or_better.all
        assert figures.off_topic_nothing == report.offtopic.levels[None]
        for kind, expected in report.given.kinds.items():
            assert kind_figures(judged)[kind.value].right == expected.documents.recall[1]
            assert kind_figures(judged)[kind.value].levels == expected.levels


def test_a_threshold_that_moves_changes_levels(kb: KnowledgeBase) -> None:
    cases = cases_of(outcomes_of(kb))
    lenient, strict = (judge(cases, Thresholds(2.0, bound, bound)) for bound in (0.0, 1.0))
    assert confusion(lenient)[Answered.OFF_TOPIC, None] == 0
    assert confusion(strict)[Answered.OFF_TOPIC, None] == 2
    assert sum(confusion(strict).values()) == sum(confusion(lenient).values()) == len(LABELS)


def outcome(kind: Kind = Kind.QUESTION, relevant: tuple[str, ...] = ("a.md",), note: str = "") -> QueryOutcome:
    """Of which only the label counts: levels and documents come from the evidence."""
    result = LookupResult(False, None, None, None, None, (), None, None, None, "i1")
    label = LabelledQuery("q", "q", kind, "en", relevant if kind is not Kind.OFFTOPIC else (), note=note)
    return QueryOutcome(label, result, make_invocation(), (), Ranking(()), {}, False, None, None)


def case(matches: list[float], distances: list[float]) -> Case:
    """Documents ``k0.md`` … by keyword with their coverage, ``c0.md`` … by vectors with their distances, best first."""
    candidates = tuple(
        GradedCandidate(f"c{number}.md", "", CandidateEvidence(distance, 0, 0, 0), 0.0, ())
        for number, distance in enumerate(distances)
    )
    keywords = tuple(KeywordEvidence(f"k{number}.md", share, "", "", ()) for number, share in enumerate(matches))
    return Case(outcome(), RowEvidence(keywords, 0.4, False, candidates, PROFILE, Thresholds(), None, False))


SHARES = st.sampled_from([0.0, 0.5, 0.75, 1.0]) | st.floats(0, 1)
CASES = st.builds(case, st.lists(SHARES, max_size=2), st.lists(st.floats(0, 4), max_size=4))


def level_under(each: Case, reference: float, highly: float) -> int:
    return RANK[judge([each], Thresholds(2.0, highly, reference))[0].level]


@given(CASES, st.lists(SHARES, min_size=3, max_size=3))
def test_raising_highly_relevant_never_raises_a_level(each: Case, bounds: list[float]) -> None:
    reference, lower, upper = sorted(bounds)
    assert level_under(each, reference, upper) <= level_under(each, reference, lower)


@given(CASES, st.lists(SHARES, min_size=3, max_size=3))
def test_raising_reference_finds_nothing_more(each: Case, bounds: list[float]) -> None:
    lower, upper, highly = sorted(bounds)
    assert bool(level_under(each, upper, highly)) <= bool(level_under(each, lower, highly))


@given(CASES, st.lists(SHARES, min_size=3, max_size=3))
def test_raising_reference_never_raises_a_level_where_candidates_stand_by_similarity(
    each: Case, bounds: list[float]
) -> None:
    assert each.evidence is not None
    ordered = tuple(sorted(each.evidence.candidates, key=lambda candidate: candidate.evidence.distance))
    each = Case(each.outcome, replace(each.evidence, candidates=ordered))
    lower, upper, highly = sorted(bounds)
    assert level_under(each, upper, highly) <= level_under(each, lower, highly)


def test_what_is_not_good_enough_has_the_similarity_of_its_best_candidate_and_a_keyword_none() -> None:
    (missed,) = judge([case([], [1.5, 1.2])], Thresholds())
    (precise,) = judge([case([1.0], [])], Thresholds())
    assert (missed.level, missed.document, missed.similarity) == (None, None, pytest.approx(0.4))
    assert (precise.level, precise.document, precise.similarity) == (PRECISE, "k0.md", None)


def test_an_outcome_without_evidence_stays_as_it_is() -> None:
    (judged,) = judge([Case(replace(outcome(), given=("a.md",)), None)], Thresholds(2.0, 1.0, 1.0))
    assert (judged.level, judged.document, judged.answered) == (None, "a.md", Answered.RIGHT)


FAULTS = [
    (Kind.OFFTOPIC, PRECISE, "x.md", Fault.OFF_TOPIC_HIGHLY),
    (Kind.OFFTOPIC, HIGHLY, "x.md", Fault.OFF_TOPIC_HIGHLY),
    (Kind.QUESTION, PRECISE, "x.md", Fault.WRONG_HIGHLY),
    (Kind.QUESTION, HIGHLY, "x.md", Fault.WRONG_HIGHLY),
    (Kind.QUESTION, None, None, Fault.NOTHING),
    (Kind.QUESTION, REFERENCE, "x.md", Fault.WRONG_REFERENCE),
    (Kind.OFFTOPIC, REFERENCE, "x.md", Fault.OFF_TOPIC_REFERENCE),
    (Kind.OFFTOPIC, None, None, None),
    (Kind.QUESTION, REFERENCE, "a.md", None),
]
JUDGED = tuple(Judged(outcome(kind), level, given, None) for kind, level, given, _ in FAULTS)


@given(st.permutations(JUDGED))
def test_the_worst_come_first_and_the_right_ones_not_at_all(shuffled: list[Judged]) -> None:
    assert [each.fault for each in JUDGED] == [fault for *_, fault in FAULTS]
    assert worst_first(shuffled) == JUDGED[:7]


def test_equally_bad_ones_keep_the_order_of_the_file() -> None:
    first, second = (Judged(replace(outcome(), holds_evidence=value), None, None, None) for value in (True, False))
    assert worst_first([first, second]) == (first, second)
    assert worst_first([second, first]) == (second, first)


def test_traps_and_queries_across_languages_are_rows_of_their_own() -> None:
    judged = [
        Judged(outcome(Kind.OFFTOPIC, note="keyword trap"), REFERENCE, "x.md", None),
        Judged(outcome(Kind.OFFTOPIC), None, None, None),
        Judged(replace(outcome(), crosses_languages=True), HIGHLY, "a.md", None),
        Judged(outcome(), HIGHLY, "a.md", None),
    ]
    rows = {name: (figures.right.count, figures.right.of) for name, figures in kind_figures(judged).items()}
    assert rows == {"question": (1, 1), "offtopic": (1, 1), "traps": (0, 1), "cross_language": (1, 1)}
    figures = level_figures(judged)
    assert (figures.right.of, figures.off_topic_nothing.count, figures.off_topic_nothing.of) == (1, 1, 2)


def test_the_template_is_a_file_of_labels_that_can_be_run(kb: KnowledgeBase) -> None:
    labels = read_labels(label_template(kb), kb)
    assert [(label.query, label.relevant) for label in labels] == [
        ("ERR_TIMEOUT", ("api/payment.md",)),
        ("REFUND", ("api/refund.md",)),
        ("Notes", ("guides/weather.md",)),
        ("how to bake bread", ()),
    ]


def test_outcomes_are_json_lines_with_what_was_given_and_expected(kb: KnowledgeBase) -> None:
    lines = list(outcome_lines(judge(cases_of(outcomes_of(kb)), kb.thresholds)))
    first, wrong = (json.loads(line) for line in lines[:2])
    assert all(line.endswith("\n") for line in lines)
    assert {key: first[key] for key in ("id", "kind", "level", "given", "expected", "right", "similarity")} == {
        "id": "ERR_TIMEOUT", "kind": "keyword", "level": "PRECISE", "given": "api/payment.md",
        "expected": ["api/payment.md"], "right": True, "similarity": None,
    }  # fmt: skip
    assert (wrong["given"], wrong["right"]) == ("api/refund.md", False)
    assert "几天" in lines[3]
