"""The outcomes of labelled queries into the figures of ``kbapp eval``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kbapp.domain.documents import JsonValue
from kbapp.domain.labelled_queries import Kind
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.retrieval_metrics import ListFigures, RankedAnswer, Rate, list_figures, percentile, rate_of
from kbapp.service.evaluation import QueryOutcome
from kbapp.service.ranking import RankedHit

GIVEN_LEVELS = (RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT, RelevanceLevel.REFERENCE)
LEVELS: tuple[RelevanceLevel | None, ...] = (*GIVEN_LEVELS, None)
NOTHING = "nothing"
CROSS_LANGUAGE = "cross_language"
HIGHLY_OR_BETTER = (RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT)

Figures = TypeVar("Figures", bound="ListFigures | GivenFigures")


@dataclass(frozen=True, slots=True)
class GivenFigures:
    """Figures of what lookups handed out; ``levels``: of the answers at each level, how many were right."""

    documents: ListFigures
    levels: Mapping[RelevanceLevel | None, Rate]
    evidence: Rate
    heading: Rate

    def to_dict(self) -> dict[str, JsonValue]:
        """The figures as JSON."""
        return {
            **self.documents.to_dict(),
            "levels": {level_name(level): rate.to_dict() for level, rate in self.levels.items()},
            "evidence": self.evidence.to_dict(),
            "heading": self.heading.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Groups(Generic[Figures]):
    """The same figures of all in-topic queries, and by kind and language.

    Queries whose relevant documents are all in another language are in ``cross_language`` alone.
    """

    overall: Figures
    kinds: Mapping[Kind, Figures]
    languages: Mapping[str, Figures]
    cross_language: Figures

    def named(self) -> Iterator[tuple[str, Figures]]:
        """Every group with its name, the kinds first."""
        yield from ((kind.value, figures) for kind, figures in self.kinds.items())
        yield from self.languages.items()
        yield "overall", self.overall
        yield CROSS_LANGUAGE, self.cross_language

    def kinds_dict(self) -> dict[str, JsonValue]:
        """By kind, as JSON."""
        return {kind.value: figures.to_dict() for kind, figures in self.kinds.items()}

    def languages_dict(self) -> dict[str, JsonValue]:
        """By language, as JSON; ``cross_language`` is one more of them."""
        languages = {**self.languages, CROSS_LANGUAGE: self.cross_language}
        return {language: figures.to_dict() for language, figures in languages.items()}

    def to_dict(self) -> dict[str, JsonValue]:
        """All in one object, the overall figures at its top."""
        return {**self.overall.to_dict(), "kinds": self.kinds_dict(), "languages": self.languages_dict()}


@dataclass(frozen=True, slots=True)
class OffTopicFigures:
    """How off-topic queries came out, by level."""

    queries: int
    levels: Mapping[RelevanceLevel | None, Rate]

    def to_dict(self) -> dict[str, JsonValue]:
        """The figures as JSON."""
        return {
            "queries": self.queries,
            **{level_name(level): rate.to_dict() for level, rate in self.levels.items()},
        }


@dataclass(frozen=True, slots=True)
class HighlyOrBetter:
    """In-topic queries whose right document was given at HIGHLY_RELEVANT or better, cross-language ones left out."""

    all: Rate
    without_paraphrase: Rate
    paraphrase: Rate

    def to_dict(self) -> dict[str, JsonValue]:
        """The rates as JSON, that of all at the top."""
        return {
            **self.all.to_dict(),
            "without_paraphrase": self.without_paraphrase.to_dict(),
            "paraphrase": self.paraphrase.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """Everything that ``kbapp eval`` says.

    ``given`` is about the documents that lookup hands out, ``ranking`` about the ranked list behind it. In ``levels``
    off-topic answers count as wrong, and nothing is the right answer to an off-topic query; ``traps`` are off-topic
    queries that hold a word of the corpus.
    """

    given: Groups[GivenFigures]
    ranking: Groups[ListFigures]
    legs: Mapping[str, Groups[ListFigures]]
    baselines: Mapping[str, Groups[ListFigures]]
    levels: Mapping[RelevanceLevel | None, Rate]
    levels_in_topic: Mapping[RelevanceLevel | None, Rate]
    offtopic: OffTopicFigures
    traps: OffTopicFigures
    in_topic_highly_or_better: HighlyOrBetter
    latency_ms: Mapping[str, float | None]

    def to_dict(self) -> dict[str, JsonValue]:
        """The JSON of ``kbapp eval``."""
        return {
            "overall": self.given.overall.to_dict(),
            "ranking": self.ranking.to_dict(),
            "kinds": self.given.kinds_dict(),
            "languages": self.given.languages_dict(),
            "legs": {name: groups.to_dict() for name, groups in self.legs.items()},
            "baselines": {name: groups.to_dict() for name, groups in self.baselines.items()},
            "levels": {
                level_name(level): rate.to_dict() | {"in_topic": self.levels_in_topic[level].to_dict()}
                for level, rate in self.levels.items()
            },
            "offtopic": self.offtopic.to_dict() | {"traps": self.traps.to_dict()},
            "in_topic_highly_or_better": self.in_topic_highly_or_better.to_dict(),
            "latency_ms": dict(self.latency_ms),
        }


def report_of(outcomes: Sequence[QueryOutcome]) -> EvaluationReport:
    """The figures of these outcomes."""
    in_topic = [each for each in outcomes if each.is_in_topic]
    regular = [each for each in in_topic if not each.crosses_languages]
    paraphrases = [each for each in regular if each.label.kind is Kind.PARAPHRASE]
    others = [each for each in regular if each.label.kind is not Kind.PARAPHRASE]
    off_topic = [each for each in outcomes if not each.is_in_topic]
    latencies = [each.invocation.duration_ms for each in outcomes]
    return EvaluationReport(
        given=_grouped(in_topic, _given_figures),
        ranking=_grouped(in_topic, _lists(lambda each: [hit.document for hit in each.ranking.hits])),
        legs={name: _grouped(in_topic, _lists(_leg(rank))) for name, rank in _LEGS.items()},
        baselines={name: _grouped(in_topic, _lists(_baseline(name))) for name in _names_of_baselines(outcomes)},
        levels=_right_by_level(outcomes),
        levels_in_topic=_right_by_level(in_topic),
        offtopic=_off_topic([each for each in off_topic if not each.label.is_trap]),
        traps=_off_topic([each for each in off_topic if each.label.is_trap]),
        in_topic_highly_or_better=HighlyOrBetter(
            _highly_or_better(regular), _highly_or_better(others), _highly_or_better(paraphrases)
        ),
        latency_ms={"p50": percentile(latencies, 0.5), "p95": percentile(latencies, 0.95)},
    )


def level_name(level: RelevanceLevel | None) -> str:
    """A level as the report names it."""
    return level.value if level else NOTHING


_Rank = Callable[[RankedHit], int | None]
_LEGS: Mapping[str, _Rank] = {
    "l0": lambda hit: hit.keyword_rank,
    "vectors": lambda hit: hit.vector_rank,
    "full_text": lambda hit: hit.full_text_rank,
}


def _grouped(outcomes: Sequence[QueryOutcome], figures: Callable[[Sequence[QueryOutcome]], Figures]) -> Groups[Figures]:
    regular = [each for each in outcomes if not each.crosses_languages]
    kinds = {each.label.kind for each in regular}
    languages = {each.label.language for each in regular}
    return Groups(
        figures(regular),
        {kind: figures([each for each in regular if each.label.kind is kind]) for kind in Kind if kind in kinds},
        {name: figures([each for each in regular if each.label.language == name]) for name in sorted(languages)},
        figures([each for each in outcomes if each.crosses_languages]),
    )


def _lists(hits: Callable[[QueryOutcome], Iterable[str]]) -> Callable[[Sequence[QueryOutcome]], ListFigures]:
    return lambda outcomes: list_figures([RankedAnswer(tuple(hits(each)), each.label.relevant) for each in outcomes])


def _leg(rank: _Rank) -> Callable[[QueryOutcome], list[str]]:
    def hits(outcome: QueryOutcome) -> list[str]:
        ranked = [(place, hit.document) for hit in outcome.ranking.hits if (place := rank(hit)) is not None]
        return [document for _, document in sorted(ranked)]

    return hits


def _baseline(name: str) -> Callable[[QueryOutcome], Iterable[str]]:
    return lambda outcome: outcome.baselines[name]


def _names_of_baselines(outcomes: Sequence[QueryOutcome]) -> list[str]:
    return list(outcomes[0].baselines) if outcomes else []


def _given_figures(outcomes: Sequence[QueryOutcome]) -> GivenFigures:
    return GivenFigures(
        _lists(lambda each: each.given)(outcomes),
        _right_by_level(outcomes),
        rate_of([each.holds_evidence for each in outcomes if each.holds_evidence is not None]),
        rate_of([each.is_under_heading for each in outcomes if each.is_under_heading is not None]),
    )


def _right_by_level(outcomes: Sequence[QueryOutcome]) -> dict[RelevanceLevel | None, Rate]:
    rates: dict[RelevanceLevel | None, Rate] = {
        level: rate_of([each.is_right for each in outcomes if each.level is level]) for level in GIVEN_LEVELS
    }
    return rates | {None: rate_of([not each.is_in_topic for each in outcomes if each.level is None])}


def _off_topic(outcomes: Sequence[QueryOutcome]) -> OffTopicFigures:
    return OffTopicFigures(
        len(outcomes), {level: rate_of([each.level is level for each in outcomes]) for level in LEVELS}
    )


def _highly_or_better(outcomes: Sequence[QueryOutcome]) -> Rate:
    return rate_of([each.is_right and each.level in HIGHLY_OR_BETTER for each in outcomes])
