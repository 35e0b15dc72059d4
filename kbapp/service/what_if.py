"""Evaluated queries judged by other thresholds, from their rows alone: no lookup is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.labelled_queries import Kind
from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.domain.retrieval_metrics import Rate, rate_of
from kbapp.domain.row_evidence import RowEvidence, row_evidence
from kbapp.service.evaluation import QueryOutcome
from kbapp.service.evaluation_report import CROSS_LANGUAGE, HIGHLY_OR_BETTER, LEVELS

TRAPS = "traps"


class Answered(StrEnum):
    """What a query was answered with. An in-topic query that got nothing is ``WRONG``."""

    RIGHT = "right"
    WRONG = "wrong"
    OFF_TOPIC = "off-topic"


class Fault(StrEnum):
    """What is wrong with an answer, the worst first."""

    OFF_TOPIC_HIGHLY = "off-topic-highly"
    WRONG_HIGHLY = "wrong-highly"
    NOTHING = "nothing"
    WRONG_REFERENCE = "wrong-reference"
    OFF_TOPIC_REFERENCE = "off-topic-reference"


@dataclass(frozen=True, slots=True)
class Case:
    """An outcome with the evidence in its row; None: the row does not hold it, and no threshold changes the outcome."""

    outcome: QueryOutcome
    evidence: RowEvidence | None


@dataclass(frozen=True, slots=True)
class Judged:
    """What becomes of a query under certain thresholds.

    ``document``: the first one of which body text is given. ``similarity``: the one that is graded, of what is not
    good enough the best; None: vectors were not searched, or found nothing.
    """

    outcome: QueryOutcome
    level: RelevanceLevel | None
    document: str | None
    similarity: float | None

    @property
    def answered(self) -> Answered:
        """Whether that is right."""
        if not self.outcome.is_in_topic:
            return Answered.OFF_TOPIC
        return Answered.RIGHT if self.document in self.outcome.label.relevant else Answered.WRONG

    @property
    def is_highly_or_better(self) -> bool:
        """Whether the executor is told that searching on hardly helps."""
        return self.level in HIGHLY_OR_BETTER

    @property
    def fault(self) -> Fault | None:
        """What is wrong with it."""
        if self.answered is Answered.RIGHT:
            return None
        if self.answered is Answered.OFF_TOPIC:
            if self.level is None:
                return None
            return Fault.OFF_TOPIC_HIGHLY if self.is_highly_or_better else Fault.OFF_TOPIC_REFERENCE
        if self.level is None:
            return Fault.NOTHING
        return Fault.WRONG_HIGHLY if self.is_highly_or_better else Fault.WRONG_REFERENCE


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What a stakeholder asks first; the first two without cross-language queries, as ``kbapp eval`` counts them."""

    right: Rate
    right_highly: Rate
    off_topic_nothing: Rate
    off_topic_highly: Rate


@dataclass(frozen=True, slots=True)
class KindFigures:
    """The queries of one kind; ``levels``: of the answers at each, how many were right."""

    right: Rate
    levels: Mapping[RelevanceLevel | None, Rate]


Cell = tuple[Answered, RelevanceLevel | None]


def cases_of(outcomes: Sequence[QueryOutcome]) -> tuple[Case, ...]:
    """The outcomes with their evidence, read once."""
    return tuple(Case(each, row_evidence(each.invocation.retrieval_details)) for each in outcomes)


def judge(cases: Sequence[Case], thresholds: Thresholds) -> tuple[Judged, ...]:
    """Every query under these thresholds."""
    return tuple(_judged(case, thresholds) for case in cases)


def confusion(judged: Sequence[Judged]) -> Mapping[Cell, int]:
    """How many queries were answered so at each level; 0 for a cell without any."""
    return Counter((each.answered, each.level) for each in judged)


def level_figures(judged: Sequence[Judged]) -> LevelFigures:
    """The figures that follow from levels and documents."""
    regular = [each for each in judged if each.outcome.is_in_topic and not each.outcome.crosses_languages]
    right = [each.answered is Answered.RIGHT for each in regular]
    off_topic = [each for each in judged if not each.outcome.is_in_topic]
    return LevelFigures(
        rate_of(right),
        rate_of([is_right and each.is_highly_or_better for each, is_right in zip(regular, right, strict=True)]),
        rate_of([each.level is None for each in off_topic]),
        rate_of([each.is_highly_or_better for each in off_topic]),
    )


def kind_figures(judged: Sequence[Judged]) -> Mapping[str, KindFigures]:
    """By kind, in their order; queries across languages, and traps among the off-topic ones, by themselves."""
    groups: dict[str, list[Judged]] = {name: [] for name in (*map(str, Kind), TRAPS, CROSS_LANGUAGE)}
    for each in judged:
        groups[_group_of(each.outcome)].append(each)
    return {name: _kind_figures(group) for name, group in groups.items() if group}


def worst_first(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """The faulty ones: by what is wrong, then PRECISE before HIGHLY_RELEVANT, then in the order of the file."""
    order = list(Fault)
    faulty = [(order.index(each.fault), LEVELS.index(each.level), each) for each in judged if each.fault]
    return tuple(each for _, _, each in sorted(faulty, key=lambda ranked: ranked[:2]))


def _judged(case: Case, thresholds: Thresholds) -> Judged:
    outcome = case.outcome
    if case.evidence is None:
        return Judged(outcome, outcome.level, next(iter(outcome.given), None), None)
    evidence = case.evidence.under(thresholds)
    return Judged(outcome, evidence.level, evidence.document, _similarity(evidence))


def _similarity(evidence: RowEvidence) -> float | None:
    graded = [evidence.decisive] if evidence.decisive else evidence.candidates
    similarities = (evidence.profile.similarity(each.evidence, evidence.thresholds) for each in graded)
    return max(similarities, default=None)


def _group_of(outcome: QueryOutcome) -> str:
    if outcome.label.is_trap:
        return TRAPS
    return CROSS_LANGUAGE if outcome.crosses_languages else outcome.label.kind.value


def _kind_figures(group: Sequence[Judged]) -> KindFigures:
    """Nothing is the right answer to an off-topic query, and no other is."""
    right = [each.level is None if not each.outcome.is_in_topic else each.answered is Answered.RIGHT for each in group]
    levels = {
        level: rate_of([is_right for each, is_right in zip(group, right, strict=True) if each.level is level])
        for level in LEVELS
    }
    return KindFigures(rate_of(right), levels)
