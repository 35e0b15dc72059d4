"""Labelled queries, or the calls that people marked, into a relevance profile of this knowledge base's own (G5, T6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from kbapp.domain.calibration import (
    FOLDS,
    CalibrationFigures,
    Case,
    calibrated_profile,
    cross_validated,
    figures_of,
    level_by,
)
from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.labelled_queries import Kind, LabelledQuery
from kbapp.domain.relevance import CandidateEvidence, EvidenceProfile, RelevanceLevel
from kbapp.domain.row_evidence import RowEvidence, row_evidence
from kbapp.domain.telemetry import MarkedCall, Verdict
from kbapp.service.given import call_of_row
from kbapp.service.knowledge_base import KnowledgeBase

MIN_LABELS = 30
"""Of either kind: below that the shares that cuts keep are those of a handful of queries."""

MARKED_CALLS = 10_000

NOTHING_FOUND = CandidateEvidence(2.0)


class LeftOut(StrEnum):
    """Why a marked call says nothing about the evidence for a candidate."""

    DEDUPED = "deduped"  # withheld, or something else was given in its place
    BY_KEYWORD = "by_keyword"  # L0 was sure, nothing was graded
    NO_EVIDENCE = "no_evidence"  # nothing was found, something was missing, or the row is of an older version
    OTHER_PROFILE = "other_profile"  # another model's
    OTHER_LEVEL = "other_level"  # the level is wrong, but it was not said to be highly relevant


_REASONS = {
    LeftOut.DEDUPED: "repeated or withheld",
    LeftOut.BY_KEYWORD: "answered by a keyword alone",
    LeftOut.NO_EVIDENCE: "without evidence",
    LeftOut.OTHER_PROFILE: "of another model",
    LeftOut.OTHER_LEVEL: "of a wrong level below HIGHLY_RELEVANT",
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """A profile that was made from cases, how good it is on those it has not seen, and how good the one in force is.

    ``left_out``: how many marked calls were, and why; empty for labelled queries.
    """

    model: str
    cases: tuple[Case, ...]
    profile: EvidenceProfile
    figures: CalibrationFigures
    now: CalibrationFigures
    left_out: Mapping[LeftOut, int]

    @property
    def counts(self) -> dict[str, int]:
        """How many cases of each kind there are; the right ones are in topic."""
        in_topic = sum(case.in_topic for case in self.cases)
        right = sum(case.right for case in self.cases)
        return {"in_topic": in_topic, "right": right, "off_topic": len(self.cases) - in_topic}

    def to_dict(self) -> dict[str, JsonValue]:
        """The calibration as JSON."""
        return {
            "model": self.model,
            "cases": dict(self.counts),
            "profile": asdict(self.profile),
            "thresholds": {
                "reference": self.profile.reference_logit,
                "highly_relevant": self.profile.highly_relevant_logit,
            },
            **self.figures.to_dict(),
            "now": self.now.to_dict(),
            "left_out": {reason.value: count for reason, count in self.left_out.items()},
        }


def calibrate_by_labels(kb: KnowledgeBase, labels: Sequence[LabelledQuery]) -> Calibration:
    """The calibration by labelled queries, of each of which the first document that L1 considers counts.

    Raises:
        UserError: there are too few of either kind, a query is refused, or hardly any is answered.
        IndexUnavailable: a query got no full answer.
    """
    off_topic = sum(label.kind is Kind.OFFTOPIC for label in labels)
    in_topic = len(labels) - off_topic
    if min(in_topic, off_topic) < MIN_LABELS:
        raise UserError(
            f"calibrating needs {MIN_LABELS} in-topic and {MIN_LABELS} off-topic queries, and there are {in_topic} and"
            f" {off_topic}: label more"
        )
    kb.warm_up()
    return _calibration(kb, [_case(kb, label) for label in labels], {})


def calibrate_by_feedback(kb: KnowledgeBase) -> Calibration:
    """The calibration by the calls that people marked: helpful is right, anything else counts as off topic.

    Raises:
        UserError: there are too few of either kind.
        IndexUnavailable: the database cannot be used.
    """
    name = kb.grading.profile.name
    read = [marked_case(marked, name) for marked in kb.marked_calls(limit=MARKED_CALLS)]
    cases = [each for each in read if isinstance(each, Case)]
    left_out = Counter(each for each in read if isinstance(each, LeftOut))
    right = sum(case.right for case in cases)
    if min(right, len(cases) - right) < MIN_LABELS:
        raise UserError(
            f"calibrating needs {MIN_LABELS} graded answers marked helpful and {MIN_LABELS} marked otherwise, and there"
            f" are {right} and {len(cases) - right}{_said(left_out)}: mark more with `kbapp feedback`, or name a"
            " file of labelled queries"
        )
    return _calibration(kb, cases, left_out)


def marked_case(marked: MarkedCall, profile_name: str) -> Case | LeftOut:
    """What a mark says of the candidate that decided the answer; ``profile_name``: of the model now."""
    found = _evidence_behind(marked.call, profile_name)
    if isinstance(found, LeftOut):
        return found
    if marked.mark.verdict is Verdict.WRONG_LEVEL and marked.call.relevance_level is not RelevanceLevel.HIGHLY_RELEVANT:
        return LeftOut.OTHER_LEVEL
    is_right = marked.mark.verdict is Verdict.HELPFUL
    return Case(found, is_right, in_topic=is_right)


def left_out_text(left_out: Mapping[LeftOut, int]) -> str:
    """How many marked calls were left out, and why; empty for none."""
    return ", ".join(f"{count} {_REASONS[reason]}" for reason, count in sorted(left_out.items()))


def _said(left_out: Mapping[LeftOut, int]) -> str:
    return f" (left out: {left_out_text(left_out)})" if left_out else ""


def _evidence_behind(call: Invocation, profile_name: str) -> CandidateEvidence | LeftOut:
    if call.outcome is Outcome.DEDUPED:
        return LeftOut.DEDUPED
    row = row_evidence(call.retrieval_details) if call.outcome is Outcome.OK else None
    if row is None:
        return LeftOut.NO_EVIDENCE
    if row.profile.name != profile_name:
        return LeftOut.OTHER_PROFILE
    return LeftOut.BY_KEYWORD if row.is_confident else _evidence_of_given(call, row)


def _evidence_of_given(call: Invocation, row: RowEvidence) -> CandidateEvidence | LeftOut:
    """In a session that was given the best document before, another one is given."""
    documents = [text.document for text in call_of_row(call).given]
    if row.decisive is None or not documents:
        return LeftOut.NO_EVIDENCE
    return row.decisive.evidence if documents[0] == row.decisive.document else LeftOut.DEDUPED


def _case(kb: KnowledgeBase, label: LabelledQuery) -> Case:
    try:
        found = kb.considered(label.query)
    except UserError as error:
        raise UserError(f"line {label.line}: {error}") from error
    problem = found.full_text_problem or (f"{found.pending} documents are still being indexed" if found.pending else "")
    if problem:
        raise IndexUnavailable(f"nothing is computed, line {label.line} got no full answer: {problem}")
    in_topic = label.kind is not Kind.OFFTOPIC
    if not found.candidates:
        return Case(NOTHING_FOUND, right=False, in_topic=in_topic)
    first = found.candidates[0]
    return Case(first.evidence, first.stored.path in label.relevant, in_topic)


def _calibration(kb: KnowledgeBase, cases: Iterable[Case], left_out: Mapping[LeftOut, int]) -> Calibration:
    cases = tuple(cases)
    right = sum(case.right for case in cases)
    if right < FOLDS:
        raise UserError(
            f"only {right} of {sum(case.in_topic for case in cases)} in-topic queries find a document that answers them"
            " first, too few to learn from: check the labels with `kbapp eval`"
        )
    grading, model = kb.grading, kb.model_id
    profile = calibrated_profile(grading.profile.name, cases, grading.profile.fusion_weight)
    now = [level_by(grading.profile, case, grading.thresholds) for case in cases]
    return Calibration(
        model=model,
        cases=cases,
        profile=profile,
        figures=figures_of(cases, cross_validated(cases, grading.thresholds)),
        now=figures_of(cases, now),
        left_out=left_out,
    )
