"""``kbapp doctor``: what is installed, and whether files, records, L0, vectors and full text agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexBusy, IndexUnavailable
from kbapp.domain.ports import Embedder, EmbeddingCache
from kbapp.service.consistency import Consistency, Findings, Problem
from kbapp.service.indexing import Indexer

WAIT_SECONDS = 5.0  # for whoever is indexing


@dataclass(frozen=True, slots=True)
class Engine:
    """Who runs the vectors: owner, attached, remote or unavailable."""

    role: str
    uri: str | None
    owner_pid: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Health:
    """The whole picture; ``consistent`` is about the indexes alone."""

    versions: dict[str, str]
    model: str
    engine: Engine
    folders: dict[str, str]
    counts: dict[str, int]
    consistent: bool
    problems: tuple[Problem, ...]

    def to_dict(self) -> dict[str, JsonValue]:
        """The form of ``kbapp doctor --json``."""
        return {
            "versions": dict(self.versions),
            "model": self.model,
            "engine": {
                "role": self.engine.role,
                "uri": self.engine.uri,
                "owner_pid": self.engine.owner_pid,
                "problem": self.engine.problem,
            },
            "folders": dict(self.folders),
            "counts": dict(self.counts),
            "consistent": self.consistent,
            "problems": [{"problem": item.problem, "way_out": item.way_out} for item in self.problems],
        }


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the check is told by ``bootstrap``."""

    versions: Callable[[], dict[str, str]]
    engine: Callable[[], Engine]
    folders: dict[str, str]
    index_lock: Callable[[float], AbstractContextManager[None]]


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
    ) -> None:
        self._consistency = consistency
        self._indexer = indexer
        self._cache = cache
        self._embedder = embedder
        self._surroundings = surroundings

    def run(self) -> Health:
        """Compare all stores; one that cannot be read is a problem, never an exception."""
        found = self._compared()
        problems = (*self._model_problems(), *found.problems)
        engine = self._surroundings.engine()
        return Health(
            versions=self._surroundings.versions(),
            model=self._embedder.model_id,
            engine=engine,
            folders=self._surroundings.folders,
            counts=found.counts,
            consistent=not any(problem.is_difference for problem in problems),
            problems=problems,
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
