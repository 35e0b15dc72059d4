"""Labelled queries through lookup, its ranking and the baselines: what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kbapp.domain.action_memory import GivenText
from kbapp.domain.answer_checks import chunk_is_in, holds_all, labelled_section, summary_starts_in
from kbapp.domain.documents import Document
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import Invocation
from kbapp.domain.json_lines import FaultyLines
from kbapp.domain.labelled_queries import (
    Kind,
    LabelledQuery,
    crosses_languages,
    language_of,
    parse_labelled_queries,
)
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.baselines import Baseline, baselines
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupOutcome
from kbapp.service.ranking import Ranking


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """What became of one labelled query.

    ``given``: the documents that the lookup handed out, those of which body text was given first; ``baselines``: the
    documents that each baseline found. ``holds_evidence`` and ``is_under_heading`` are None where the label has none.
    """

    label: LabelledQuery
    result: LookupResult
    invocation: Invocation
    given: tuple[str, ...]
    ranking: Ranking
    baselines: Mapping[str, tuple[str, ...]]
    crosses_languages: bool
    holds_evidence: bool | None
    is_under_heading: bool | None

    @property
    def level(self) -> RelevanceLevel | None:
        """The level of the answer; None: nothing was given."""
        return self.result.relevance_level

    @property
    def is_right(self) -> bool:
        """Whether the first document whose body text was given answers the query."""
        return bool(self.given) and self.given[0] in self.label.relevant

    @property
    def is_in_topic(self) -> bool:
        """Whether the knowledge base answers the query."""
        return self.label.kind is not Kind.OFFTOPIC


OnOutcome = Callable[[QueryOutcome], None]


def read_labels(text: str, kb: KnowledgeBase) -> list[LabelledQuery]:
    """The labelled queries of a file about this knowledge base.

    Raises:
        UserError: there is no document, or a line is broken or names an unknown document; each such line is named.
    """
    paths = [record.path for record in kb.documents()]
    if not paths:
        raise UserError(
            f"the knowledge base {kb.base_folder} holds no document: put .md files there, or name another folder"
            " with --corpus"
        )
    return parse_labelled_queries(text, paths, kb.base_folder)


def evaluate(
    kb: KnowledgeBase, labels: Sequence[LabelledQuery], on_outcome: OnOutcome | None = None
) -> tuple[QueryOutcome, ...]:
    """Look every query up, each in a session of its own that leaves no trace; ``on_outcome`` is told of each one.

    Raises:
        UserError: evidence stands in no relevant document, or a query is refused; the lines are named.
        IndexUnavailable: a level cannot answer, so that the figures would be those of another product.
    """
    evaluation = _Evaluation(kb)
    evaluation.check_evidence(labels)
    kb.warm_up()
    outcomes = []
    for label in labels:
        outcomes.append(evaluation.outcome_of(label))
        if on_outcome:
            on_outcome(outcomes[-1])
    return tuple(outcomes)


class _Evaluation:
    """The documents of one run, read once."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._documents = dict(_readable_documents(kb))
        self._baselines: dict[str, Baseline] = baselines({path: d.body for path, d in self._documents.items()})
        self._languages = {path: language_of(document.body) for path, document in self._documents.items()}

    def check_evidence(self, labels: Sequence[LabelledQuery]) -> None:
        faults = {}
        for label in labels:
            texts = "\n".join(map(_whole_text, self._relevant(label)))
            missing = next((each for each in label.evidence if not holds_all(texts, [each])), None)
            if missing is not None:
                faults[label.line] = f"{missing[:60]!r} stands in no relevant document"
        if faults:
            raise FaultyLines("nothing is computed, evidence is wrong", faults)

    def outcome_of(self, label: LabelledQuery) -> QueryOutcome:
        try:
            lookup = self._kb.unrecorded_lookup(label.query)
            ranking = self._kb.ranking(label.query)
        except UserError as error:
            raise UserError(f"line {label.line}: {error}") from error
        problem = lookup.result.degraded or ranking.problem
        if problem:
            raise IndexUnavailable(f"nothing is computed, line {label.line} got no full answer: {problem}")
        return QueryOutcome(
            label=label,
            result=lookup.result,
            invocation=lookup.invocation,
            given=self._handed_out(lookup),
            ranking=ranking,
            baselines={name: search(label.query) for name, search in self._baselines.items()},
            crosses_languages=crosses_languages(label, [self._languages[each.path] for each in self._relevant(label)]),
            holds_evidence=holds_all(_contents(lookup.result), label.evidence) if label.evidence else None,
            is_under_heading=self._is_under_heading(label, lookup.call.given),
        )

    def _handed_out(self, lookup: LookupOutcome) -> tuple[str, ...]:
        given = [text.document for text in lookup.call.given]
        named = [part.source for part in (lookup.result.primary, lookup.result.supplement) if part]
        paths = [source.removeprefix(f"{self._kb.base_folder}/") for source in named]
        return tuple(dict.fromkeys([*given, *paths])) if given else ()

    def _is_under_heading(self, label: LabelledQuery, given: Sequence[GivenText]) -> bool | None:
        """Only for ``section``, and only where the document has the heading that the label names."""
        document = self._documents.get(label.relevant[0]) if label.kind is Kind.SECTION else None
        section = labelled_section(document, label.heading) if document and label.heading else None
        if document is None or section is None:
            return None
        text = next(iter(given), None)
        if text is None or text.document != document.path:
            return False
        lines = next((each.chunk.lines for each in self._kb.chunks(text.document) if each.id == text.part), None)
        return chunk_is_in(section, document, lines) if lines else summary_starts_in(section, text.text)

    def _relevant(self, label: LabelledQuery) -> list[Document]:
        return [self._documents[path] for path in label.relevant if path in self._documents]


def _readable_documents(kb: KnowledgeBase) -> Iterator[tuple[str, Document]]:
    for record in kb.documents():
        try:
            yield record.path, kb.document(record.path)
        except UserError:
            continue  # indexing has named it


def _whole_text(document: Document) -> str:
    summary = document.frontmatter.summary if document.frontmatter else None
    return "\n".join([document.title, summary or "", document.body])


def _contents(result: LookupResult) -> str:
    return "\n".join(part.content for part in (result.primary, result.supplement) if part)
