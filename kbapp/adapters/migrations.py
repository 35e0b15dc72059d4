"""The database's schema as numbered steps (T3); each runs once, in a transaction; numbers need not be dense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlite_utils import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

from kbapp.adapters import call_figures
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


@migrations(name="V006")
def tool_invocation(db: Database) -> None:
    """One row per call of the tool (T1)."""
    db.execute(
        """
        CREATE TABLE tool_invocation (
            id TEXT PRIMARY KEY,
            session_id TEXT,
            tool_name TEXT NOT NULL,
            query TEXT NOT NULL,
            section_title TEXT,
            missing_dimension TEXT,
            created_at TEXT NOT NULL,
            duration_ms REAL NOT NULL,
            l0_ms REAL NOT NULL,
            embed_ms REAL,
            l1_ms REAL,
            l0_match_count INTEGER NOT NULL,
            l1_called INTEGER NOT NULL,
            found INTEGER NOT NULL,
            outcome TEXT NOT NULL CHECK (outcome IN ('error', 'degraded', 'deduped', 'not_found', 'ok')),
            retrieval_details TEXT CHECK (retrieval_details IS NULL OR json_valid(retrieval_details)),
            error TEXT
        )
        """
    )


@migrations(name="V007")
def tool_invocation_by_time(db: Database) -> None:
    """For the newest rows, and for those that are too old."""
    db.execute("CREATE INDEX tool_invocation_time ON tool_invocation (created_at)")


@migrations(name="V008")
def tool_invocation_by_session(db: Database) -> None:
    """For a session's rows (T8)."""
    db.execute("CREATE INDEX tool_invocation_session ON tool_invocation (session_id, created_at)")


@migrations(name="V009")
def feedback(db: Database) -> None:
    """What people say about an invocation (T6); it goes when the invocation goes."""
    db.execute(
        """
        CREATE TABLE feedback (
            id TEXT PRIMARY KEY,
            invocation_id TEXT NOT NULL REFERENCES tool_invocation (id) ON DELETE CASCADE,
            verdict TEXT NOT NULL CHECK (verdict IN ('helpful', 'not-helpful', 'wrong-level')),
            note TEXT NOT NULL DEFAULT '',
            created_at TEXT NOT NULL
        )
        """
    )
    db.execute("CREATE INDEX feedback_invocation ON feedback (invocation_id)")


@migrations(name="V010")
def relevance_and_dedup(db: Database) -> None:
    """How good a result was, and why content was withheld (000 §6)."""
    db.execute(
        "ALTER TABLE tool_invocation ADD COLUMN relevance_level TEXT"
        " CHECK (relevance_level IN ('PRECISE', 'HIGHLY_RELEVANT', 'REFERENCE', 'DEDUPED'))"
    )
    db.execute(
        "ALTER TABLE tool_invocation ADD COLUMN dedup_reason TEXT"
        " CHECK (dedup_reason IN ('doc_retrieved', 'domain_retrieved'))"
    )


@migrations(name="V011")
def similarity_column(db: Database) -> None:
    """What was graded, out of the details, so that statistics need not parse them."""
    db.execute("ALTER TABLE tool_invocation ADD COLUMN l1_top_similarity REAL")
    db.execute(
        """
        UPDATE tool_invocation
        SET l1_top_similarity = json_extract(retrieval_details, '$.l1_top_similarity')
        WHERE json_type(retrieval_details, '$.l1_top_similarity') IN ('integer', 'real')
        """
    )


@migrations(name="V012")
def given_documents(db: Database) -> None:
    """Which documents an invocation gave text of (T2); it goes when the invocation goes."""
    db.execute(
        """
        CREATE TABLE given_document (
            invocation_id TEXT NOT NULL REFERENCES tool_invocation (id) ON DELETE CASCADE,
            document TEXT NOT NULL,
            PRIMARY KEY (invocation_id, document)
        ) WITHOUT ROWID
        """
    )
    db.execute(
        """
        INSERT OR IGNORE INTO given_document (invocation_id, document)
        SELECT tool_invocation.id, json_extract(given.value, '$.document')
        FROM tool_invocation JOIN json_each(retrieval_details, '$.given') AS given
        WHERE CASE given.type WHEN 'object' THEN json_type(given.value, '$.document') END = 'text'
        """
    )
    db.execute("CREATE INDEX given_document_document ON given_document (document)")


@migrations(name="V013")
def tool_invocation_figures(db: Database) -> None:
    """All that statistics read stands in the index: a row itself is several kilobytes of details."""
    db.execute(
        """
        CREATE INDEX tool_invocation_figures ON tool_invocation (
            tool_name, created_at, session_id, outcome, relevance_level, dedup_reason, found,
            duration_ms, l0_ms, embed_ms, l1_ms, l1_top_similarity, id
        )
        """
    )


@migrations(name="V014")
def similarity_in_details(db: Database) -> None:
    """For who asks the details themselves (000 §8, third statement): the answer stands in the index."""
    db.execute(
        """
        CREATE INDEX tool_invocation_details_similarity
        ON tool_invocation (tool_name, json_extract(retrieval_details, '$.l1_top_similarity'))
        WHERE retrieval_details IS NOT NULL
        """
    )


@migrations(name="V015")
def chunk_changes(db: Database) -> None:
    """The last changes of ``chunk``, kept by triggers: what holds chunks in memory follows them.

    Also of rows that are written as they were: their vectors may be those of another model now.
    """
    db.execute("CREATE TABLE chunk_change (number INTEGER PRIMARY KEY AUTOINCREMENT, chunk_id TEXT NOT NULL)")
    db.execute(
        """
        CREATE TRIGGER chunk_added AFTER INSERT ON chunk
        BEGIN INSERT INTO chunk_change (chunk_id) VALUES (NEW.id); END
        """
    )
    db.execute(
        """
        CREATE TRIGGER chunk_removed AFTER DELETE ON chunk
        BEGIN INSERT INTO chunk_change (chunk_id) VALUES (OLD.id); END
        """
    )
    db.execute(
        """
        CREATE TRIGGER chunk_changed AFTER UPDATE OF content_hash ON chunk
        BEGIN INSERT INTO chunk_change (chunk_id) VALUES (NEW.id); END
        """
    )
    db.execute(
        """
        CREATE TRIGGER chunk_change_limit AFTER INSERT ON chunk_change
        BEGIN DELETE FROM chunk_change WHERE number <= NEW.number - 10000; END
        """
    )


@migrations(name="V016")
def documents_by_state(db: Database) -> None:
    """Each lookup asks how many documents are pending and how many are indexed."""
    db.execute("CREATE INDEX api_document_state ON api_document (status, chunk_count)")


@migrations(name="V017")
def packed_figures(db: Database) -> None:
    """What statistics count, packed: a statement over a million rows of any index takes most of a second."""
    for statement in call_figures.schema():
        db.execute(statement)


@migrations(name="V018")
def missed_queries(db: Database) -> None:
    """The queries that found nothing, in the order in which they are counted."""
    db.execute(
        """
        CREATE INDEX tool_invocation_missed
        ON tool_invocation (query, created_at, session_id, relevance_level, tool_name, outcome)
        WHERE tool_name = 'lookup_knowledge' AND outcome = 'not_found'
        """
    )


@migrations(name="V019")
def counts_by_kind(db: Database) -> None:
    """For who asks how many lookups there were of each kind (000 §8, first and second statement)."""
    for column in ("relevance_level", "dedup_reason"):
        db.execute(
            f"CREATE INDEX tool_invocation_{column} ON tool_invocation ({column}) WHERE tool_name = 'lookup_knowledge'"
        )


@migrations(name="V020")
def tool_invocation_newest(db: Database) -> None:
    """One index for what is asked by time, in the place of two: the rows themselves are read for their details only."""
    db.execute(
        """
        CREATE INDEX tool_invocation_newest
        ON tool_invocation (created_at, tool_name, session_id, outcome, relevance_level, id)
        """
    )
    db.execute("DROP INDEX tool_invocation_time")
    db.execute("DROP INDEX tool_invocation_figures")


@migrations(name="V021")
def given_documents_by_kind(db: Database) -> None:
    """Documents are counted, and the calls that gave one found, in an index that no row need be read for."""
    for column in ("created_at", "session_id", "outcome", "relevance_level"):
        db.execute(f"ALTER TABLE given_document ADD COLUMN {column} TEXT")
    db.execute(
        """
        UPDATE given_document SET (created_at, session_id, outcome, relevance_level) = (
            SELECT created_at, session_id, outcome, relevance_level FROM tool_invocation WHERE id = invocation_id
        )
        """
    )
    db.execute("DROP INDEX given_document_document")
    db.execute(
        """
        CREATE INDEX given_document_calls
        ON given_document (document, created_at, session_id, outcome, relevance_level)
        """
    )


@migrations(name="V022")
def packed_figures_of_any_value(db: Database) -> None:
    """Made anew: a number below 0 had made its line, and so its block, unreadable."""
    for statement in call_figures.schema():
        db.execute(statement)


@migrations(name="V023")
def no_terms_table(db: Database) -> None:
    """Nothing asks it: in how many chunks a token stands is counted from what each token adds to a score."""
    db.execute("DROP TABLE chunk_fts_terms")
