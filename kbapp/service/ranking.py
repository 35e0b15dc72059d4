"""The documents behind a lookup, best first, with the legs that found them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.answering import Answer
from kbapp.service.findings import Findings
from kbapp.service.vector_search import Candidate, SearchOutcome


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A chunk, or a document that L0 matched, with its ranks (from 1); ``level`` None: not good enough to be given."""

    document: str
    level: RelevanceLevel | None
    keyword_rank: int | None = None
    vector_rank: int | None = None
    full_text_rank: int | None = None


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document with the level of its best hit and its best rank (from 1, among hits) in each leg."""

    document: str
    level: RelevanceLevel | None
    keyword_rank: int | None
    vector_rank: int | None
    full_text_rank: int | None


@dataclass(frozen=True, slots=True)
class Ranking:
    """All hits of one query, best first: those that would be given, then the others.

    ``problem``: what could not be asked, so that hits are missing.
    """

    hits: tuple[RankedHit, ...]
    problem: str | None = None

    @property
    def documents(self) -> tuple[RankedDocument, ...]:
        """Each document once, at the place of its best hit."""
        hits: dict[str, list[RankedHit]] = {}
        for hit in self.hits:
            hits.setdefault(hit.document, []).append(hit)
        return tuple(
            RankedDocument(
                document,
                own[0].level,
                _best(hit.keyword_rank for hit in own),
                _best(hit.vector_rank for hit in own),
                _best(hit.full_text_rank for hit in own),
            )
            for document, own in hits.items()
        )


def rank(
    answers: Iterable[Answer], findings: Findings, search: SearchOutcome | None, search_problem: str | None
) -> Ranking:
    """The hits in the order of the answers that they give; behind them what is not good enough, then the L0 matches.

    ``search`` is what L1 says of the query, also when an L0 match made it needless.
    """
    chunks = {candidate.stored.id: candidate for candidate in search.candidates} if search else {}
    keyword_ranks = {match.entry.path: place for place, match in enumerate(findings.matches, 1)}
    hits: list[RankedHit] = []
    for answer in answers:
        if answer.given and answer.given.part in chunks:
            hits.append(_chunk_hit(chunks.pop(answer.given.part)))
        else:
            document = answer.given.document if answer.given else answer.mentioned[0]
            hits.append(RankedHit(document, answer.level, keyword_rank=keyword_ranks.pop(document)))
    hits += [_chunk_hit(candidate) for candidate in chunks.values()]
    hits += [RankedHit(document, None, keyword_rank=place) for document, place in keyword_ranks.items()]
    problem = findings.keywords.problem or search_problem or (search.full_text_problem if search else None)
    return Ranking(tuple(hits), problem)


def _chunk_hit(candidate: Candidate) -> RankedHit:
    hit = candidate.hit
    return RankedHit(
        candidate.stored.path, candidate.level, vector_rank=hit.vector_rank, full_text_rank=hit.full_text_rank
    )


def _best(ranks: Iterable[int | None]) -> int | None:
    return min(_known(ranks), default=None)


def _known(ranks: Iterable[int | None]) -> Iterator[int]:
    return (place for place in ranks if place is not None)
