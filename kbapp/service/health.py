"""``kbapp doctor``: what is installed, and whether files, records, L0, vectors and full text agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kbapp.domain.documents import DocumentRecord, DocumentStatus, JsonValue
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.hashing import sha256_hex
from kbapp.domain.ports import DocumentFiles, DocumentRecords, Embedder, FullText, KeywordIndex, VectorIndex

RUN_INDEX = "run `kbapp index`"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and the way out."""

    problem: str
    way_out: str


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


class HealthCheck:
    """Reads everything, changes nothing."""

    def __init__(
        self,
        *,
        files: DocumentFiles,
        records: DocumentRecords,
        keywords: KeywordIndex,
        full_text: FullText,
        vectors: VectorIndex,
        embedder: Embedder,
        surroundings: Surroundings,
    ) -> None:
        self._files = files
        self._records = records
        self._keywords = keywords
        self._full_text = full_text
        self._vectors = vectors
        self._embedder = embedder
        self._surroundings = surroundings

    def run(self) -> Health:
        """Compare all stores; an index that cannot be read is a problem, never an exception."""
        counts: dict[str, int] = {}
        problems = [*self._model_problems(), *self._store_problems(counts)]
        engine = self._surroundings.engine()
        return Health(
            versions=self._surroundings.versions(),
            model=self._embedder.model_id,
            engine=engine,
            folders=self._surroundings.folders,
            counts=counts,
            consistent=not any(problem.way_out == RUN_INDEX for problem in problems),
            problems=tuple(problems),
        )

    def _model_problems(self) -> Iterator[Problem]:
        try:
            self._embedder.embed_queries(["kbapp"])
        except IndexUnavailable as error:
            yield Problem(str(error), "set embedding.model to a model that is installed or reachable")

    def _store_problems(self, counts: dict[str, int]) -> list[Problem]:
        try:
            records = self._records.documents()
            problems = [*self._file_problems(records, counts), *self._entry_problems(counts)]
            return [*problems, *self._chunk_problems(records, counts)]
        except IndexUnavailable as error:
            return [Problem(str(error), RUN_INDEX)]

    def _file_problems(self, records: dict[str, DocumentRecord], counts: dict[str, int]) -> Iterator[Problem]:
        scan = self._files.scan()
        counts |= {"files": len(scan.paths), "records": len(records)}
        yield from (Problem(f"{item.path}: {item.error}", "mend the file or folder") for item in scan.problems)
        for path in sorted(records.keys() - set(scan.paths)):
            yield Problem(f"{path} has a record but no file", RUN_INDEX)
        for path in scan.paths:
            yield from self._document_problems(path, records.get(path))

    def _document_problems(self, path: str, record: DocumentRecord | None) -> Iterator[Problem]:
        if record is None:
            yield Problem(f"{path} is not indexed yet", RUN_INDEX)
            return
        if record.status is DocumentStatus.FAILED:
            yield Problem(f"{path}: {record.error}", "mend the cause and run `kbapp index`")
            return
        try:
            current = sha256_hex(self._files.read_bytes(path))
        except UserError as error:
            yield Problem(str(error), "mend the file")
            return
        if record.status is DocumentStatus.PENDING or record.indexed_hash != current:
            yield Problem(f"{path} has changed since it was indexed", RUN_INDEX)

    def _entry_problems(self, counts: dict[str, int]) -> Iterator[Problem]:
        held = {entry.path: entry for entry in self._keywords.entries()}
        counts["entries"] = len(held)
        wanted = {}
        for path in self._files.scan().paths:
            try:
                entry = self._files.read_entry(path)
            except UserError:
                continue
            if entry:
                wanted[path] = entry
        for path in sorted(held.keys() | wanted.keys()):
            if held.get(path) != wanted.get(path):
                yield Problem(f"the L0 index differs from the file {path}", RUN_INDEX)

    def _chunk_problems(self, records: dict[str, DocumentRecord], counts: dict[str, int]) -> Iterator[Problem]:
        chunk_ids = self._records.chunk_ids()
        counts["chunks"] = len(chunk_ids)
        if sum(record.chunk_count for record in records.values()) != len(chunk_ids):
            yield Problem("the records and the chunks differ in number", RUN_INDEX)
        if not self._full_text.is_consistent():
            yield Problem("full text and chunks differ", RUN_INDEX)
        try:
            vector_ids = self._vectors.chunk_ids()
        except IndexUnavailable as error:
            yield Problem(str(error), "stop the process that holds the folder, or set milvus.uri")
            return
        counts["vectors"] = len(vector_ids)
        if vector_ids != chunk_ids:
            missing, extra = len(chunk_ids - vector_ids), len(vector_ids - chunk_ids)
            yield Problem(f"vectors and chunks differ: {missing} missing, {extra} too many", RUN_INDEX)
