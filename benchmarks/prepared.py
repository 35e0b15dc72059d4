"""Knowledge bases that are made once per run and measured by several groups: documents, and their index.

The index is that of ``ClusteredEmbedder``, under the name of the bundled model, so that the product's own process opens
it without embedding anything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from corpora import SECTIONS, ClusteredEmbedder, Vectors, documents, real_source, real_space, write_documents
from measure import Options

from kbapp.bootstrap import DATABASE_FILE, open_knowledge_base
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings, setting_names

SEMANTIC = "how to recover after the leader is lost"  # L0 does not answer it
REPLICA_SETTING = "milvus.read-replica"
CALIBRATED_CHUNKS = 10_000  # each of some 500 probes is searched: minutes, above
FULL_TEXT_SQL = (
    "SELECT chunk.id, -bm25(chunk_fts) AS score FROM chunk_fts JOIN chunk ON chunk.row = chunk_fts.rowid"
    " WHERE chunk_fts MATCH ? ORDER BY bm25(chunk_fts), chunk.id LIMIT ?"
)


def has_replica() -> bool:
    """Whether this kbapp can search in memory."""
    return any(name == REPLICA_SETTING for name, _, _ in setting_names())


def settings_for(folder: Path, *, replica: bool | None = None) -> Settings:
    """Of a prepared folder; ``replica`` None: as it is by default."""
    named = {"knowledge.base-path": str(folder / "knowledge_base"), "state-dir": str(folder / "state")}
    if replica is not None and has_replica():
        named[REPLICA_SETTING] = str(replica).lower()
    return Settings.load(environ={}, overrides=named)


def opened(folder: Path, *, replica: bool | None = None) -> KnowledgeBase:
    """With the embedder that costs nothing."""
    return open_knowledge_base(settings_for(folder, replica=replica), embedder=ClusteredEmbedder(real_space()))


def warm_up(kb: KnowledgeBase) -> None:
    """Load the model and open the engine, in every version of kbapp."""
    kb.lookup(SEMANTIC)


def with_documents(options: Options, count: int, *, whole_sections: bool = False) -> Path:
    """A folder with ``knowledge_base/`` of so many documents, not indexed."""
    kind = "long" if whole_sections else "short"
    folder = options.work / f"{kind}-documents-{count}"
    if not folder.exists():
        made = documents(real_source(), count, whole_sections=whole_sections)
        write_documents(folder.with_suffix(".new") / "knowledge_base", made)
        folder.with_suffix(".new").rename(folder)
    return folder


def indexed(options: Options, chunks: int) -> Path:
    """A folder with ``knowledge_base/`` of so many chunks (within 2 %) and the ``state/`` of its index."""
    folder = with_documents(options, max(1, chunks // SECTIONS))
    if not (folder / "indexed").exists():
        with opened(folder) as kb:
            report = kb.refresh()
            if chunks <= CALIBRATED_CHUNKS and options.scale != "tiny" and hasattr(kb, "calibrate_levels"):
                kb.calibrate_levels()
        (folder / "indexed").write_text(f"{report.chunks}", encoding="utf-8")
    found = int((folder / "indexed").read_text(encoding="utf-8"))
    if abs(found - chunks) > max(2, chunks // 50):
        raise RuntimeError(f"{folder.name} has {found} chunks, {chunks} were wanted: the corpus is not cut as expected")
    return folder


def stored_vectors(folder: Path) -> tuple[list[str], Vectors]:
    """Ids and vectors of the chunks in force."""
    with closing(sqlite3.connect(folder / "state" / DATABASE_FILE)) as connection:
        rows = connection.execute(
            "SELECT chunk.id, vector FROM chunk JOIN embedding_cache ON text_hash = chunk.content_hash"
        ).fetchall()
    return [row[0] for row in rows], np.frombuffer(b"".join(row[1] for row in rows), "<f4").reshape(len(rows), -1)


def nearest(vectors: Vectors, query: Vectors, limit: int) -> Vectors:
    """The raw counterpart of a vector search: one matrix product, the places of the ``limit`` nearest in order."""
    scores = vectors @ query
    best = np.argpartition(scores, -limit)[-limit:] if limit < len(scores) else np.arange(len(scores))
    return best[np.argsort(-scores[best])]


def match_expression(tokens: Sequence[str]) -> str:
    return " OR ".join(f'"{token}"' for token in tokens) or '""'
