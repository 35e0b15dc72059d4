"""What was found lately, for the time when nothing can be searched (X9)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from kbapp.domain.errors import UserError
from kbapp.domain.hashing import sha256_hex
from kbapp.domain.ports import DocumentFiles
from kbapp.service.vector_search import Candidate, SearchOutcome

MAX_QUERIES = 200  # a few chunks each


@dataclass(frozen=True, slots=True)
class WarmResult:
    """What a search had found; ``found_at``: seconds since the epoch."""

    found_at: float
    outcome: SearchOutcome


class WarmResults:
    """The outcomes of the last queries, for ``keep_seconds`` (0: none). Thread-safe."""

    def __init__(self, files: DocumentFiles, keep_seconds: float, clock: Callable[[], float]) -> None:
        self._files = files
        self._keep_seconds = keep_seconds
        self._clock = clock
        self._results: OrderedDict[str, WarmResult] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, query: str, outcome: SearchOutcome) -> None:
        """Remember what was found by all of the search; nothing found is nothing to be given again."""
        is_whole = not (outcome.vector_problem or outcome.full_text_problem)
        if not (self._keep_seconds and is_whole and outcome.alternatives):
            return
        with self._lock:
            self._results[query.casefold()] = WarmResult(self._clock(), outcome)
            self._results.move_to_end(query.casefold())
            while len(self._results) > MAX_QUERIES:
                self._results.popitem(last=False)

    def result(self, query: str) -> WarmResult | None:
        """What this query found lately, as far as the documents are still as they were then."""
        with self._lock:
            warm = self._results.get(query.casefold())
        if warm is None or self._clock() - warm.found_at > self._keep_seconds:
            return None
        places = range(len(warm.outcome.candidates))
        kept = [place for place in places if self._is_unchanged(warm.outcome.candidates[place])]
        considered = sum(place < warm.outcome.top_k for place in kept)
        candidates = tuple(warm.outcome.candidates[place] for place in kept)
        return replace(warm, outcome=replace(warm.outcome, candidates=candidates, top_k=considered)) if kept else None

    def _is_unchanged(self, candidate: Candidate) -> bool:
        try:
            data = self._files.read_bytes(candidate.stored.path)
        except UserError:
            return False
        return sha256_hex(data) == candidate.stored.document_hash
