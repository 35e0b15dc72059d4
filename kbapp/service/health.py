"""``kbapp doctor``: what is installed, and whether files, records, L0, vectors and full text agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from kbapp.domain.circuit_breaker import SourceState
from kbapp.domain.errors import IndexBusy, IndexUnavailable
from kbapp.domain.health import AppPort, Engine, Health, Problem
from kbapp.domain.ports import Embedder, EmbeddingCache
from kbapp.service.consistency import Consistency, Findings
from kbapp.service.grading import GradingInForce
from kbapp.service.indexing import Indexer

WAIT_SECONDS = 5.0  # for whoever is indexing


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the check is told by ``bootstrap``."""

    versions: Callable[[], dict[str, str]]
    engine: Callable[[], Engine]
    folders: dict[str, str]
    app_port: Callable[[], AppPort]
    settings_problems: Callable[[], Iterable[Problem]]
    index_lock: Callable[[float], AbstractContextManager[None]]
    sources: Callable[[], tuple[SourceState, ...]]


class HealthCheck:
    """Looks at everything; where it finds stores that differ, it has the next reconcile look there as well."""

    def __init__(
        self,
        *,
        consistency: Consistency,
        indexer: Indexer,
        cache: EmbeddingCache,
        embedder: Embedder,
        surroundings: Surroundings,
        grading: GradingInForce,
    ) -> None:
        self._consistency = consistency
        self._indexer = indexer
        self._cache = cache
        self._embedder = embedder
        self._surroundings = surroundings
        self._grading = grading

    def run(self) -> Health:
        """Compare all stores; one that cannot be read is a problem, never an exception."""
        found = self._compared()
        problems = (*self._surroundings.settings_problems(), *self._model_problems(), *found.problems)
        engine = self._surroundings.engine()
        return Health(
            versions=self._surroundings.versions(),
            model=self._embedder.model_id,
            engine=engine,
            folders=self._surroundings.folders,
            app_port=self._surroundings.app_port(),
            counts=found.counts,
            consistent=not any(problem.is_difference for problem in problems),
            problems=problems,
            level_cuts=self._grading.cuts(),
            has_own_profile=self._grading.has_own_profile,
            sources=self._surroundings.sources(),
        )

    def prune(self) -> int:
        """Delete the cached vectors that no chunk in force uses; how many there were.

        Raises:
            IndexUnavailable: another process is indexing, or the database cannot be used.
        """
        with self._surroundings.index_lock(WAIT_SECONDS):
            return self._cache.prune()

    def _compared(self) -> Findings:
        """While nobody writes: what is under way would look like a difference."""
        found = Findings()
        try:
            with self._surroundings.index_lock(WAIT_SECONDS):
                self._consistency.check(found)
                if found.doubtful or found.is_unseen:
                    self._indexer.doubt(found.doubtful)
                size = self._cache.size()
                found.counts |= {"cached_vectors": size.rows, "cached_bytes": size.size_bytes}
        except IndexBusy as error:
            found.difference(str(error), "run `kbapp doctor` again then")
        except IndexUnavailable as error:
            found.difference(str(error), "do so, then run `kbapp index`")
        return found

    def _model_problems(self) -> Iterator[Problem]:
        try:
            self._embedder.embed_queries(["kbapp"])
        except IndexUnavailable as error:
            yield Problem(str(error), "set embedding.model to a model that is installed or reachable")
