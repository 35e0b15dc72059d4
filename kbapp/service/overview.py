"""The state at a glance: what is known without opening, asking or comparing anything; cheap enough for every rerun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.circuit_breaker import BreakerKind, SourceState
from kbapp.domain.documents import DocumentRecord, DocumentStatus, FileProblem, KnowledgeEntry, domain_of
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.health import Engine
from kbapp.domain.level_cuts import LevelCuts
from kbapp.domain.ports import DocumentRecords, KeywordIndex
from kbapp.domain.relevance import DistanceProfile, EvidenceProfile, RelevanceProfile, Thresholds
from kbapp.service.follower import FollowMode, FollowStatus
from kbapp.service.grading import GradingInForce

UNAVAILABLE = "unavailable"


class ProfileKind(StrEnum):
    """Where the relevance profile of the embedding model comes from (G5)."""

    CALIBRATED = "calibrated"
    PROVISIONAL = "provisional"
    """Fitted on other knowledge bases than this one."""
    UNKNOWN = "unknown"
    """Nothing is known of the model: levels follow the distance alone."""


class NoticeKind(StrEnum):
    """What is to be acted on, the most pressing first."""

    DATABASE = "database"
    ENGINE = "engine"
    PAUSED = "paused"
    FAILED = "failed"
    TELEMETRY = "telemetry"
    FOLLOWING = "following"
    POLLING = "polling"
    UNKNOWN_MODEL = "unknown_model"
    FRONTMATTER = "frontmatter"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to act on: ``detail`` is a sentence of the part that is concerned, ``problems`` name documents."""

    kind: NoticeKind
    count: int = 1
    detail: str = ""
    problems: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class DomainState:
    """A domain: how many documents it has, and how many of these wait or have failed."""

    name: str
    documents: int
    chunks: int
    pending: int
    failed: int


@dataclass(frozen=True, slots=True)
class Overview:
    """The state at a glance; ``engine`` None: nothing needed it yet, and it is not opened to be shown.

    ``in_memory``: how many vectors the read replica holds; None: the engine itself is searched, or nothing was yet.
    """

    domains: tuple[DomainState, ...]
    entries: int
    model: str
    profile: ProfileKind
    thresholds: Thresholds
    level_cuts: LevelCuts | None
    engine: Engine | None
    in_memory: int | None
    following: FollowStatus
    notices: tuple[Notice, ...]
    sources: tuple[SourceState, ...] = ()

    @property
    def documents(self) -> int:
        """All documents that are known, indexed or not."""
        return sum(domain.documents for domain in self.domains)

    @property
    def chunks(self) -> int:
        """The chunks in force."""
        return sum(domain.chunks for domain in self.domains)

    @property
    def pending(self) -> int:
        """Documents that are still to be indexed."""
        return sum(domain.pending for domain in self.domains)

    @property
    def failed(self) -> int:
        """Documents that could not be indexed."""
        return sum(domain.failed for domain in self.domains)


def profile_kind(profile: RelevanceProfile, cuts: LevelCuts | None) -> ProfileKind:
    """How far the levels can be relied on."""
    if isinstance(profile, EvidenceProfile):
        return ProfileKind.CALIBRATED if cuts or profile.has_own_cuts else ProfileKind.PROVISIONAL
    return ProfileKind.UNKNOWN if profile.provisional else ProfileKind.CALIBRATED


class OverviewReader:
    """Reads records and counters. Thread-safe as its ports are; never raises ``IndexUnavailable``.

    ``engine`` tells the last known state, ``lost_rows`` how many telemetry rows could not be kept since the start.
    """

    def __init__(
        self,
        *,
        records: DocumentRecords,
        keywords: KeywordIndex,
        model: str,
        grading: GradingInForce,
        engine: Callable[[], Engine | None],
        in_memory: Callable[[], int | None],
        lost_rows: Callable[[], int],
        sources: Callable[[], tuple[SourceState, ...]],
    ) -> None:
        self._records = records
        self._keywords = keywords
        self._model = model
        self._grading = grading
        self._engine = engine
        self._in_memory = in_memory
        self._lost_rows = lost_rows
        self._sources = sources

    def read(self, following: FollowStatus) -> Overview:
        """The state now; how the files are followed is told by the caller."""
        records, problem = self._known_records()
        entries = self._keywords.entries()
        engine, grading, cuts = self._engine(), self._grading.now(), self._grading.cuts()
        sources = self._sources()
        notices = [
            *_database_notices(problem),
            *_source_notices(sources),
            *_engine_notices(engine),
            *_document_notices(records),
            *_telemetry_notices(self._lost_rows()),
            *_following_notices(following),
            *_model_notices(self._model, grading.profile),
        ]
        order = list(NoticeKind)
        return Overview(
            domains=domain_states(records, entries),
            entries=len(entries),
            model=self._model,
            profile=profile_kind(grading.profile, cuts),
            thresholds=grading.thresholds,
            level_cuts=cuts,
            engine=engine,
            in_memory=self._in_memory(),
            following=following,
            notices=tuple(sorted(notices, key=lambda notice: order.index(notice.kind))),
            sources=sources,
        )

    def _known_records(self) -> tuple[list[DocumentRecord], str]:
        try:
            return list(self._records.documents().values()), ""
        except IndexUnavailable as error:
            return [], str(error)


def domain_states(records: Sequence[DocumentRecord], entries: Sequence[KnowledgeEntry]) -> tuple[DomainState, ...]:
    """The domains by number of documents; a document that only L0 knows as yet is a pending one."""
    unrecorded = {entry.path for entry in entries} - {record.path for record in records}
    pending = Counter(map(domain_of, unrecorded))
    documents, failed, chunks = Counter(pending), Counter[str](), Counter[str]()
    for record in records:
        name = domain_of(record.path)
        documents[name] += 1
        chunks[name] += record.chunk_count
        pending[name] += record.status is DocumentStatus.PENDING
        failed[name] += record.status is DocumentStatus.FAILED
    states = [DomainState(name, documents[name], chunks[name], pending[name], failed[name]) for name in documents]
    return tuple(sorted(states, key=lambda state: (-state.documents, state.name)))


def _database_notices(problem: str) -> Iterator[Notice]:
    if problem:
        yield Notice(NoticeKind.DATABASE, detail=problem)


def _source_notices(sources: Sequence[SourceState]) -> Iterator[Notice]:
    for source in sources:
        if source.kind is not BreakerKind.CLOSED:
            yield Notice(NoticeKind.PAUSED, detail=f"{source.label}: {source.reason}")


def _engine_notices(engine: Engine | None) -> Iterator[Notice]:
    if engine and engine.role == UNAVAILABLE:
        yield Notice(NoticeKind.ENGINE, detail=engine.problem or "")


def _document_notices(records: Sequence[DocumentRecord]) -> Iterator[Notice]:
    failed = [FileProblem(record.path, record.error or "") for record in records if _has_failed(record)]
    warned = [FileProblem(record.path, record.warning) for record in records if record.warning]
    if failed:
        yield Notice(NoticeKind.FAILED, len(failed), problems=tuple(failed))
    if warned:
        yield Notice(NoticeKind.FRONTMATTER, len(warned), problems=tuple(warned))


def _has_failed(record: DocumentRecord) -> bool:
    return record.status is DocumentStatus.FAILED


def _telemetry_notices(lost_rows: int) -> Iterator[Notice]:
    if lost_rows:
        yield Notice(NoticeKind.TELEMETRY, lost_rows)


def _following_notices(following: FollowStatus) -> Iterator[Notice]:
    if following.mode is FollowMode.POLLING:
        yield Notice(NoticeKind.POLLING, detail=following.problem or "")
    elif following.problem:
        yield Notice(NoticeKind.FOLLOWING, detail=following.problem)


def _model_notices(model: str, profile: RelevanceProfile) -> Iterator[Notice]:
    if isinstance(profile, DistanceProfile) and profile.provisional:
        yield Notice(NoticeKind.UNKNOWN_MODEL, detail=model)
