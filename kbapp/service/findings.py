"""Everything that one query found, before anything is chosen."""

from __future__ import annotations

from dataclasses import dataclass

from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.service.vector_search import Candidate, SearchOutcome


@dataclass(frozen=True, slots=True)
class KeywordOutcome:
    """What L0 said; ``problem`` when it could not answer."""

    matches: tuple[KeywordMatch, ...]
    milliseconds: float
    problem: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that one query found, before anything is chosen.

    ``goes_deeper``: it names a new dimension of the only matching document, which was given before: L1 looks further.
    ``search``: with a ``search_problem``, what the words alone found, or what was ``warm_since`` (ISO 8601, UTC) an
    earlier search. ``is_refused``: too many others were under way.
    ``covers_little``: there is one match, and it covers too little of the query to answer alone (K11).
    """

    query: str
    keywords: KeywordOutcome
    confident: bool
    goes_deeper: bool
    search: SearchOutcome | None
    search_problem: str | None
    covers_little: bool = False
    warm_since: str | None = None
    is_refused: bool = False

    @property
    def is_unsupported(self) -> bool:
        """Whether the only match covers too little of the query (K11), and all of L1 has nothing that supports it."""
        return self.covers_little and self.l1_is_complete and not self.results

    @property
    def l1_is_complete(self) -> bool:
        """Whether all of L1, vectors and full text, was searched while every document was in it."""
        if self.search is None or self.search_problem is not None:
            return False
        return not (self.search.pending or self.search.full_text_problem)

    @property
    def matches(self) -> tuple[KeywordMatch, ...]:
        """The L0 matches, best first; of equal scores the one with the better L1 rank (Q2)."""
        ranks = {candidate.stored.path: rank for rank, candidate in reversed(list(enumerate(self.results)))}
        return tuple(
            sorted(
                self.keywords.matches,
                key=lambda match: (-match.score, ranks.get(match.entry.path, len(ranks)), match.entry.path),
            )
        )

    @property
    def results(self) -> tuple[Candidate, ...]:
        """The L1 candidates that are good enough to be given."""
        return self.search.results if self.search else ()

    @property
    def alternatives(self) -> tuple[Candidate, ...]:
        """All L1 candidates that are good enough to be given, the results first."""
        return self.search.alternatives if self.search else ()
