"""The database's schema as numbered steps (T3); each runs once, in a transaction; numbers need not be dense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlite_utils import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

from kbapp.adapters.database import MIGRATION_SET

migrations = Migrations(MIGRATION_SET)


@migrations(name="V001")
def documents(db: Database) -> None:
    """One record per document (U3, U4)."""
    db.execute(
        """
        CREATE TABLE api_document (
            id TEXT PRIMARY KEY,
            file_name TEXT NOT NULL,
            category TEXT NOT NULL,
            file_path TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL,
            metadata TEXT,
            content_hash TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('PENDING', 'INDEXED', 'FAILED')),
            error TEXT,
            warning TEXT,
            chunk_count INTEGER NOT NULL DEFAULT 0,
            indexed_hash TEXT,
            indexed_with TEXT,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL
        )
        """
    )


@migrations(name="V002")
def chunks(db: Database) -> None:
    """The chunk sets in force: a vector or full-text row whose id is not here does not exist."""
    db.execute(
        """
        CREATE TABLE chunk (
            row INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            document_id TEXT NOT NULL REFERENCES api_document (id),
            content_hash TEXT NOT NULL,
            chunk_index INTEGER NOT NULL,
            total_chunks INTEGER NOT NULL,
            title TEXT NOT NULL,
            breadcrumb TEXT NOT NULL,
            heading_h1 TEXT NOT NULL,
            heading_h2 TEXT NOT NULL,
            heading_h3 TEXT NOT NULL,
            content TEXT NOT NULL,
            embedded_text TEXT NOT NULL,
            first_line INTEGER NOT NULL,
            last_line INTEGER NOT NULL
        )
        """
    )
    db.execute("CREATE INDEX chunk_document ON chunk (document_id)")


@migrations(name="V003")
def full_text(db: Database) -> None:
    """Full text over tokens that `kbapp.domain.tokens` has cut; rowid = chunk.row."""
    db.execute(
        """
        CREATE VIRTUAL TABLE chunk_fts
        USING fts5 (tokens, tokenize = "unicode61 remove_diacritics 0 tokenchars '_.-/:@'")
        """
    )
    db.execute("CREATE VIRTUAL TABLE chunk_fts_terms USING fts5vocab (chunk_fts, row)")


@migrations(name="V004")
def embedding_cache(db: Database) -> None:
    """Vectors by (model, text): what was embedded once is not embedded again (S3)."""
    db.execute(
        """
        CREATE TABLE embedding_cache (
            model TEXT NOT NULL,
            text_hash TEXT NOT NULL,
            vector BLOB NOT NULL,
            PRIMARY KEY (model, text_hash)
        ) WITHOUT ROWID
        """
    )


@migrations(name="V005")
def index_state(db: Database) -> None:
    """What the index as a whole was made with."""
    db.execute("CREATE TABLE index_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
