"""The one object that every surface holds."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from kbapp.domain.action_memory import DomainPolicy, SessionMemory
from kbapp.domain.backup_reports import ExportReport
from kbapp.domain.documents import Document, DocumentRecord, KnowledgeEntry, StoredChunk
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.health import Health
from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.level_cuts import LevelCuts
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.ports import (
    CallStatistics,
    DocumentFiles,
    DocumentRecords,
    Embedder,
    KeywordIndex,
    SettingsFile,
    Vectors,
)
from kbapp.domain.query import clean_session_id
from kbapp.domain.relevance import EvidenceProfile, RelevanceLevel, Thresholds
from kbapp.domain.telemetry import Feedback, InvocationFilter, MarkedCall, SqlResult, Verdict
from kbapp.domain.telemetry_summary import TelemetrySummary
from kbapp.service.backup import Export
from kbapp.service.documents import Documents, IndexLock, UploadResult
from kbapp.service.follower import Follower, FollowOptions, FollowStatus, OpenWatch
from kbapp.service.grading import Grading, GradingInForce
from kbapp.service.health import HealthCheck
from kbapp.service.index_report import IndexReport, OnProgress
from kbapp.service.indexing import Indexer
from kbapp.service.level_calibration import LevelCalibration
from kbapp.service.lookup import Lookup, LookupOutcome, LookupRequest
from kbapp.service.overview import Overview, OverviewReader
from kbapp.service.previews import Previews, UploadPreview
from kbapp.service.profile_settings import profile_settings
from kbapp.service.ranking import Ranking
from kbapp.service.server_copy import CopyReport, ServerCopy
from kbapp.service.sessions import Sessions
from kbapp.service.stages import Stages
from kbapp.service.telemetry import Telemetry
from kbapp.service.vector_search import SearchOutcome

logger = logging.getLogger("kbapp")


@dataclass(frozen=True, slots=True)
class Parts:
    """What ``bootstrap`` wires together."""

    files: DocumentFiles
    records: DocumentRecords
    keywords: KeywordIndex
    embedder: Embedder
    lookup: Lookup
    telemetry: Telemetry
    statistics: CallStatistics
    sessions: Sessions
    indexer: Indexer
    documents: Documents
    previews: Previews
    max_file_size: int
    health: HealthCheck
    overview: OverviewReader
    stages: Stages
    grading: GradingInForce
    settings_file: SettingsFile
    levels: LevelCalibration
    index_lock: IndexLock
    server_copy: ServerCopy
    export: Export
    open_watch: OpenWatch
    follow_options: FollowOptions
    closers: Sequence[Callable[[], None]]


class KnowledgeBase:
    """A knowledge base that is open. Thread-safe; close it, or use it in a ``with`` block."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._follower: Follower | None = None
        self._following = threading.Lock()

    def lookup(
        self,
        query: str,
        *,
        session_id: str | None = None,
        section_title: str | None = None,
        missing_dimension: str | None = None,
        force: bool = False,
    ) -> LookupResult:
        """Look something up as an executor does.

        Raises:
            UserError: the query is empty or too long.
        """
        return self.explained_lookup(LookupRequest(query, session_id, section_title, missing_dimension, force))[0]

    def explained_lookup(self, request: LookupRequest) -> tuple[LookupResult, Invocation]:
        """``lookup`` together with the telemetry row that explains it; the row is kept, also of a refused request."""
        return self._parts.telemetry.recorded(request, self._lookup_in_session)

    def _lookup_in_session(self, request: LookupRequest) -> tuple[LookupResult, Invocation]:
        with self._parts.sessions.turn(request.session_id) as memory:
            if memory is None:
                refused = self._parts.lookup.refuse(request)
                return refused.result, refused.invocation
            outcome = self._parts.lookup.run(request, memory)
            self._parts.sessions.add(request.session_id, outcome.call)
        return outcome.result, outcome.invocation

    def unrecorded_lookup(self, query: str) -> LookupOutcome:
        """``explained_lookup`` in a session of its own that leaves no trace: for measuring, not for executors.

        Raises:
            UserError: the query is empty or too long.
        """
        return self._parts.lookup.run(LookupRequest(query))

    def ranking(self, query: str) -> Ranking:
        """The documents behind a lookup of a fresh session, best first, with their legs; leaves no trace either.

        Raises:
            UserError: the query is empty or too long.
        """
        return self._parts.lookup.ranking(query)

    def considered(self, query: str) -> SearchOutcome:
        """What L1 considers for a query, whatever L0 says of it; leaves no trace.

        Raises:
            UserError: the query is empty or too long.
            IndexUnavailable: vectors cannot be had now.
        """
        return self._parts.lookup.considered(query)

    def sentence_vectors(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` unit rows of the embedding model: how alike sentences are, not what an index holds.

        Raises:
            IndexUnavailable: the model cannot be used now.
        """
        return self._parts.embedder.embed_queries(texts)

    def session(self, session_id: str) -> SessionMemory:
        """What a session was given so far; empty when nothing is known of it or it was idle for too long."""
        session = clean_session_id(session_id)
        return self._parts.sessions.memory(session) if session else SessionMemory()

    def clear_session(self, session_id: str) -> None:
        """Forget what a session was given; the clear is a row of the telemetry."""
        session = clean_session_id(session_id)
        if session:
            self._parts.sessions.clear(session)
            self._parts.telemetry.record_clear(session)

    def reindex(self, on_progress: OnProgress | None = None, *, wait_seconds: float = 3600) -> IndexReport:
        """Bring all indexes in line with the files and compare them; waits while another process does so.

        Raises:
            UserError: the folder of the knowledge base is gone.
            IndexUnavailable: the database cannot be used, or another process is still indexing after ``wait_seconds``.
        """
        with self._parts.index_lock(wait_seconds):
            self._parts.indexer.doubt_unseen_changes()
            report = self._parts.indexer.reconcile(on_progress)
        self.calibrate_levels(on_progress)
        return report

    def calibrate_levels(self, on_progress: OnProgress | None = None) -> None:
        """Find where levels begin in this knowledge base, when it is not the one any more that they were found in.

        Takes a search for each probe query: seconds. Lookups go on meanwhile.
        """
        self._parts.levels.run(on_progress)

    def copy_to_server(
        self, uri: str, on_progress: OnProgress | None = None, *, wait_seconds: float = 3600
    ) -> CopyReport:
        """Have the Milvus server at ``uri`` hold what is indexed here, embedding nothing; ``milvus.uri`` stays.

        Raises:
            UserError: it is no address, or what is here is not ready to be copied; nothing has been written.
            IndexUnavailable: the server or the database does not answer, or somebody is indexing; a later run goes on.
        """
        return self._parts.server_copy.run(uri, on_progress, wait_seconds)

    def export(self, path: Path | str, *, vectors: bool = True, force: bool = False) -> ExportReport:
        """Write documents, database and settings without secrets to one archive, while others go on; read it back.

        ``vectors``: also what was embedded, so that a restored copy need not embed it again; ``force``: overwrite.

        Raises:
            UserError: the file cannot be written, or is there and ``force`` is not set; nothing is left behind.
            IndexUnavailable: the database cannot be read, or another process exports.
        """
        return self._parts.export(Path(path), vectors=vectors, force=force)

    def refresh(self, on_progress: OnProgress | None = None) -> IndexReport:
        """Follow what changed in the files since the last time; does not wait.

        Raises:
            UserError: the folder of the knowledge base is gone.
            IndexBusy: another process is indexing.
            IndexUnavailable: the database cannot be used.
        """
        with self._parts.index_lock(0):
            return self._parts.indexer.reconcile(on_progress)

    def preview(self, name: str, data: bytes, category: str) -> UploadPreview:
        """What ``upload`` would store, and what is there already; nothing is written.

        Raises:
            UserError: the name, the category or the text would be refused.
            IndexUnavailable: the database cannot be read.
        """
        return self._parts.previews.preview(name, data, category)

    def upload(
        self, name: str, data: bytes, category: str, *, replace: bool = False, on_progress: OnProgress | None = None
    ) -> UploadResult:
        """Store a document as ``<category>/<name>`` and index it; it can be found when this returns.

        Outcome ``FAILED``: the file is stored and not indexed yet; the record says why, and ``refresh`` tries again.

        Raises:
            UserError: the name, the category or the text is refused, another text has this name and ``replace`` is not
                set, or the file cannot be written; nothing has changed.
            IndexUnavailable: the database cannot be read, or another process is indexing; nothing has changed.
        """
        return self._parts.documents.upload(name, data, category, replacing=replace, on_progress=on_progress)

    def delete(self, path: str) -> DocumentRecord:
        """Delete a document: its file, and what every index holds of it; its last record is returned.

        Raises:
            UserError: there is no such document, or its file cannot be deleted; nothing has changed.
            IndexUnavailable: the database cannot be used, or another process is indexing; deleting again goes on.
        """
        return self._parts.documents.delete(path)

    def documents(self) -> list[DocumentRecord]:
        """The records of all documents, by path."""
        return list(self._parts.records.documents().values())

    def document(self, path: str) -> Document:
        """A document as its file is now: text, frontmatter, warning.

        Raises:
            UserError: it is no path of a document, or its file cannot be read.
        """
        return self._parts.files.read(self._parts.files.resolve(path))

    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """The entries of the L0 index, by path."""
        return self._parts.keywords.entries()

    def chunks(self, path: str) -> tuple[StoredChunk, ...]:
        """The chunks of one document, in order.

        Raises:
            UserError: no document of that path is indexed.
        """
        path = self._parts.files.resolve(path)
        record = self._parts.records.documents().get(path)
        if record is None:
            raise UserError(f"{path} is not in the knowledge base: `kbapp documents` lists what is")
        return self._parts.records.chunks_of(record.id)

    def health(self) -> Health:
        """Versions, model, engine, and whether files, records and indexes agree."""
        return self._parts.health.run()

    @property
    def level_cuts(self) -> LevelCuts | None:
        """Where levels begin in this knowledge base, found by probe queries; None: where the model's profile says."""
        return self._parts.grading.cuts()

    @property
    def grading(self) -> Grading:
        """The profile and the thresholds in force."""
        return self._parts.grading.now()

    @property
    def model_id(self) -> str:
        """The embedding model: the value of ``embedding.model``."""
        return self._parts.embedder.model_id

    @property
    def thresholds(self) -> Thresholds:
        """What levels are judged by now."""
        return self._parts.grading.now().thresholds

    def apply_thresholds(self, *, reference: float, highly_relevant: float) -> Path:
        """Judge by these thresholds (0 … 1) from now on, and write them to the settings file, which is returned.

        Raises:
            UserError: they are out of range or order, or the file cannot be written; nothing has changed then.
        """
        return self._parts.grading.apply_thresholds(reference=reference, highly_relevant=highly_relevant)

    def write_profile(self, profile: EvidenceProfile) -> Path:
        """Write a profile of this model to the settings file, which is returned; the next start grades by it.

        Raises:
            UserError: the file cannot be written; nothing has changed then.
        """
        self._parts.settings_file.write(profile_settings(self.model_id, profile))
        return self._parts.settings_file.path

    def overview(self) -> Overview:
        """The state at a glance: asks nobody, opens nothing, compares nothing."""
        return self._parts.overview.read(self.following)

    def prune_cache(self) -> int:
        """Delete the cached vectors that no chunk in force uses; how many there were.

        Raises:
            IndexUnavailable: another process is indexing, or the database cannot be used.
        """
        return self._parts.health.prune()

    def telemetry(
        self,
        *,
        session_id: str | None = None,
        levels: Sequence[RelevanceLevel] = (),
        outcomes: Sequence[Outcome] = (),
        since: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Invocation]:
        """The telemetry rows that pass every filter, newest first; ``since``: UTC, ISO 8601.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        wanted = InvocationFilter(session_id, tuple(levels), tuple(outcomes), since, limit, offset)
        return self._parts.telemetry.rows(wanted)

    def invocations(self, wanted: InvocationFilter) -> Iterator[Invocation]:
        """The telemetry rows that pass the filter, newest first, one by one; read to the end, or close it.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.telemetry.log.stream(wanted)

    def telemetry_summary(self, wanted: InvocationFilter, *, utc_offset_seconds: int = 0) -> TelemetrySummary:
        """The figures of the lookups that pass the filter; its limit and offset do not count.

        ``utc_offset_seconds``: of the clock on which a day begins.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.statistics.summary(wanted, utc_offset_seconds)

    def recent_sessions(self, limit: int = 100) -> list[str]:
        """The ids of the sessions that called last, the last one first.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.statistics.recent_sessions(limit)

    def given_in(self, path: str, *, limit: int = 50) -> list[Invocation]:
        """The newest rows of the telemetry that gave text of this document, newest first.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.telemetry.log.rows_that_gave(path, limit)

    def select(self, sql: str) -> SqlResult:
        """The result of one SELECT on the database, read-only, with limits of time and rows.

        Raises:
            UserError: it is not exactly one SELECT, SQLite does not accept it, or it takes too long.
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.telemetry.log.select(sql)

    def feedback(self, invocation_id: str, verdict: Verdict | str, note: str = "") -> Feedback:
        """Mark an invocation as helpful, not helpful, or graded with the wrong level.

        Raises:
            UserError: the invocation or the verdict is unknown, or the note is too long.
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.telemetry.feedback(invocation_id, verdict, note)

    def marks(self, invocation_id: str) -> list[Feedback]:
        """What was said of an invocation, oldest first; the last mark counts.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.telemetry.log.feedback(invocation_id)

    def marked_calls(self, *, limit: int = 500) -> list[MarkedCall]:
        """Every invocation that was marked, with the mark that counts; the newest mark first.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        return self._parts.telemetry.log.marked_calls(limit)

    def sections_of(self, path: str) -> tuple[str, ...]:
        """The headings of a document, such as ``section_title`` takes; none when it cannot be read."""
        return self._parts.lookup.sections_of(self._parts.files.resolve(path))

    @property
    def domain_policy(self) -> DomainPolicy:
        """What happens when a domain is asked for again, as it is set."""
        return self._parts.lookup.domain_policy

    @property
    def max_file_size(self) -> int:
        """The bytes of the largest file that is taken."""
        return self._parts.max_file_size

    @property
    def base_folder(self) -> str:
        """The name of the base folder, first part of every ``source``."""
        return self._parts.files.base_folder

    def follow_keywords(self) -> None:
        """Bring L0 in line with what another process indexes meanwhile; never waits for it.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        self._parts.indexer.follow_keywords()

    def warm_up(self) -> None:
        """Load the model and open the engine, for which the first search would wait; records nothing.

        Raises:
            IndexUnavailable: vectors cannot be had now.
        """
        self._parts.lookup.warm_up()

    def follow(self) -> None:
        """Follow the files until ``close``, in a thread that begins with a refresh; returns at once."""
        with self._following:
            if self._follower is None:
                self._follower = Follower(self, self._parts.open_watch, self._parts.follow_options)
                self._follower.start()

    @property
    def following(self) -> FollowStatus:
        """Whether and how the files are followed, and what is going on."""
        follower = self._follower
        return follower.status if follower else FollowStatus()

    def switch_source(self, name: str, *, is_on: bool) -> None:
        """Switch a source of the retrieval (``vectors``, ``full-text``) off in this process, or on again.

        For a demonstration of what a lookup does then; what was counted of its failures is forgotten.

        Raises:
            UserError: there is no source of this name.
        """
        self._parts.stages.force(name, is_open=not is_on)

    def close(self) -> None:
        """Follow no more, and release the engine and the database."""
        with self._following:
            follower, self._follower = self._follower, None
        if follower:
            follower.stop()
        for closer in self._parts.closers:
            try:
                closer()
            except IndexUnavailable as error:
                logger.warning("%s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
