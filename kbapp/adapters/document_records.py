"""Records and chunk sets in SQLite: the switch that says which version of a document answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from kbapp.adapters.database import Database
from kbapp.adapters.full_text import text_row
from kbapp.domain.documents import (
    Chunk,
    ChunkPlace,
    DocumentRecord,
    DocumentStatus,
    StoredChunk,
    domain_of,
    source_of,
)

_MAX_PARAMETERS = 500  # SQLite's own limit is 999 in old builds

_CHUNK_COLUMNS = (
    "chunk.id, document_id, file_path, chunk.content_hash, chunk_index, total_chunks, content, embedded_text,"
    " chunk.title, breadcrumb, heading_h1, heading_h2, heading_h3, first_line, last_line, indexed_hash"
)


class DocumentRecords:
    """Tables ``api_document``, ``chunk``, ``index_state``; thread-safe; raises ``IndexUnavailable``."""

    def __init__(self, database: Database, base_folder: str) -> None:
        self._database = database
        self._base_folder = base_folder

    def documents(self) -> dict[str, DocumentRecord]:
        """All records by relative path, in the order of the paths."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT * FROM api_document").fetchall()
        records = [_record(row) for row in rows]
        return {record.path: record for record in sorted(records, key=lambda record: record.path)}

    def save(self, records: Iterable[DocumentRecord]) -> None:
        """Insert or update records by id, in one transaction; paths may change places."""
        records = list(records)
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE api_document SET file_path = '?' || id WHERE id = ?", [(record.id,) for record in records]
            )
            for record in records:
                self._save(connection, record)

    def commit_chunks(self, record: DocumentRecord, chunks: Sequence[StoredChunk]) -> None:
        """Put a document's new chunk set in force together with its record; full-text rows follow."""
        with self._database.write() as connection:
            self._save(connection, record)
            kept = {chunk.id for chunk in chunks}
            rows = connection.execute("SELECT row, id FROM chunk WHERE document_id = ?", (record.id,)).fetchall()
            known = {row["id"]: row["row"] for row in rows}
            _delete_rows(connection, [row for chunk_id, row in known.items() if chunk_id not in kept])
            for chunk in chunks:
                _put_chunk(connection, chunk, known.get(chunk.id))

    def delete(self, document_id: str) -> None:
        """Remove a record with its chunks and full-text rows."""
        with self._database.write() as connection:
            rows = connection.execute("SELECT row FROM chunk WHERE document_id = ?", (document_id,)).fetchall()
            _delete_rows(connection, [row["row"] for row in rows])
            connection.execute("DELETE FROM api_document WHERE id = ?", (document_id,))

    def chunks_of(self, document_id: str) -> tuple[StoredChunk, ...]:
        """The chunk set in force of one document, in order."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT {_CHUNK_COLUMNS} FROM chunk JOIN api_document AS d ON d.id = document_id"
                " WHERE document_id = ? ORDER BY chunk_index",
                (document_id,),
            ).fetchall()
        return tuple(_chunk(row) for row in rows)

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        """The chunks in force among these ids; one that is not in force is left out."""
        return {row["id"]: _chunk(row) for row in self._rows_of(_CHUNK_COLUMNS, chunk_ids)}

    def places(self, chunk_ids: Sequence[str]) -> dict[str, ChunkPlace]:
        """Where the chunks in force among these ids stand; quicker than reading their texts."""
        rows = self._rows_of("chunk.id, file_path, chunk.content_hash", chunk_ids)
        return {chunk_id: ChunkPlace(_path(source), content_hash) for chunk_id, source, content_hash in rows}

    def _rows_of(self, columns: str, chunk_ids: Sequence[str]) -> list[sqlite3.Row]:
        found: list[sqlite3.Row] = []
        with self._database.read() as connection:
            for start in range(0, len(chunk_ids), _MAX_PARAMETERS):
                part = list(chunk_ids[start : start + _MAX_PARAMETERS])
                found += connection.execute(
                    f"SELECT {columns} FROM chunk JOIN api_document AS d ON d.id = document_id"
                    f" WHERE chunk.id IN ({','.join('?' * len(part))})",
                    part,
                )
        return found

    def chunk_ids(self) -> set[str]:
        """The ids of all chunks in force."""
        with self._database.read() as connection:
            return {row["id"] for row in connection.execute("SELECT id FROM chunk")}

    def least_hashes(self, count: int) -> tuple[str, ...]:
        """The least content hashes of the chunks in force, each once: a sketch of what is indexed."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT DISTINCT content_hash FROM chunk ORDER BY content_hash LIMIT ?", (count,))
            return tuple(row["content_hash"] for row in rows)

    def document_count(self) -> int:
        """How many documents have chunks in force."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM api_document WHERE chunk_count > 0").fetchone()[0])

    def pending_count(self) -> int:
        """How many documents are still to be indexed."""
        with self._database.read() as connection:
            row = connection.execute("SELECT count(*) FROM api_document WHERE status = 'PENDING'").fetchone()
        return int(row[0])

    def chunk_count(self) -> int:
        """How many chunks are in force."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM chunk").fetchone()[0])

    def state(self, name: str) -> str | None:
        """A value of ``index_state``."""
        with self._database.read() as connection:
            row = connection.execute("SELECT value FROM index_state WHERE name = ?", (name,)).fetchone()
        return row["value"] if row else None

    def set_state(self, name: str, value: str) -> None:
        """Store a value of ``index_state``."""
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO index_state (name, value) VALUES (?, ?)", (name, value))

    def _save(self, connection: sqlite3.Connection, record: DocumentRecord) -> None:
        values = {
            "id": record.id,
            "file_name": PurePosixPath(record.path).name,
            "category": domain_of(record.path),
            "file_path": source_of(self._base_folder, record.path),
            "title": record.title,
            "metadata": None if record.metadata is None else json.dumps(record.metadata, ensure_ascii=False),
            "content_hash": record.content_hash,
            "status": record.status.value,
            "error": record.error,
            "warning": record.warning,
            "chunk_count": record.chunk_count,
            "indexed_hash": record.indexed_hash,
            "indexed_with": record.indexed_with,
            "created_at": record.created_at,
            "updated_at": record.updated_at,
        }
        _upsert(connection, "api_document", values, key="id")


def _put_chunk(connection: sqlite3.Connection, stored: StoredChunk, row: int | None) -> None:
    chunk = stored.chunk
    values = {
        "id": stored.id,
        "document_id": stored.document_id,
        "content_hash": stored.content_hash,
        "chunk_index": chunk.index,
        "total_chunks": chunk.total,
        "title": chunk.title,
        "breadcrumb": chunk.breadcrumb,
        "heading_h1": chunk.heading_h1,
        "heading_h2": chunk.heading_h2,
        "heading_h3": chunk.heading_h3,
        "content": chunk.content,
        "embedded_text": chunk.embedded_text,
        "first_line": chunk.lines[0],
        "last_line": chunk.lines[1],
    }
    _upsert(connection, "chunk", values, key="id")
    if row is None:
        row = connection.execute("SELECT row FROM chunk WHERE id = ?", (stored.id,)).fetchone()["row"]
        # A chunk's id holds the hash of its embedded text: a known chunk has its full-text row already.
        connection.execute("INSERT INTO chunk_fts (rowid, tokens) VALUES (?, ?)", (row, text_row(chunk.embedded_text)))


def _upsert(connection: sqlite3.Connection, table: str, values: Mapping[str, object], *, key: str) -> None:
    names = ", ".join(values)
    updates = ", ".join(f"{name} = excluded.{name}" for name in values if name != key)
    connection.execute(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})"
        f" ON CONFLICT ({key}) DO UPDATE SET {updates}",
        tuple(values.values()),
    )


def _delete_rows(connection: sqlite3.Connection, rows: Sequence[int]) -> None:
    connection.executemany("DELETE FROM chunk_fts WHERE rowid = ?", [(row,) for row in rows])
    connection.executemany("DELETE FROM chunk WHERE row = ?", [(row,) for row in rows])


def _path(source: str) -> str:
    return source.split("/", 1)[1]


def _record(row: sqlite3.Row) -> DocumentRecord:
    return DocumentRecord(
        id=row["id"],
        path=_path(row["file_path"]),
        title=row["title"],
        metadata=None if row["metadata"] is None else json.loads(row["metadata"]),
        content_hash=row["content_hash"],
        status=DocumentStatus(row["status"]),
        error=row["error"],
        warning=row["warning"],
        chunk_count=row["chunk_count"],
        indexed_hash=row["indexed_hash"],
        indexed_with=row["indexed_with"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _chunk(row: sqlite3.Row) -> StoredChunk:
    return StoredChunk(
        id=row["id"],
        document_id=row["document_id"],
        path=_path(row["file_path"]),
        content_hash=row["content_hash"],
        chunk=Chunk(
            index=row["chunk_index"],
            total=row["total_chunks"],
            content=row["content"],
            embedded_text=row["embedded_text"],
            title=row["title"],
            breadcrumb=row["breadcrumb"],
            heading_h1=row["heading_h1"],
            heading_h2=row["heading_h2"],
            heading_h3=row["heading_h3"],
            lines=(row["first_line"], row["last_line"]),
        ),
        document_hash=row["indexed_hash"] or "",
    )
