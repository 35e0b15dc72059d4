"""Full text over the chunks in SQLite FTS5: BM25 over tokens that our own code has cut.

FTS5's query language never sees a person's text: every token is quoted, and a query without tokens does not reach
MATCH.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from kbapp.adapters.database import Database
from kbapp.adapters.term_scores import TermScores, best_rows
from kbapp.domain.ports import FullTextHit
from kbapp.domain.tokens import content_tokens, tokens_of

MAX_QUERY_TOKENS = 200  # the rest of a long query adds little and costs a posting list each


class FullTextIndex:
    """Table ``chunk_fts``; rows are written by ``DocumentRecords``. Thread-safe; raises ``IndexUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._scores = TermScores()
        self._generation = database.generation

    def search(self, query: str, limit: int) -> list[FullTextHit]:
        """At most ``limit`` chunks that hold any token of the query, best first, ties by id."""
        tokens = (content_tokens(query) or list(dict.fromkeys(tokens_of(query))))[:MAX_QUERY_TOKENS]
        if not tokens:
            return []
        with self._database.read(at_one_moment=True) as connection:  # row numbers are given again
            scores = dict(best_rows(self._current_scores().of(connection, tokens), limit))
            marks = ",".join("?" * len(scores))
            ids = connection.execute(f"SELECT id, row FROM chunk WHERE row IN ({marks})", list(scores)).fetchall()
        hits = [FullTextHit(row["id"], scores[row["row"]]) for row in ids]
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]

    def chunk_frequencies(self, tokens: Sequence[str]) -> dict[str, int]:
        """In how many chunks each token stands; a token that stands in none is left out."""
        asked = tokens[:MAX_QUERY_TOKENS]
        with self._database.read() as connection:
            found = self._current_scores().of(connection, asked)
        return {token: len(each.rows) for token, each in zip(asked, found, strict=True) if len(each.rows)}

    def _current_scores(self) -> TermScores:
        if self._generation != self._database.generation:  # another file, with changes of its own
            self._generation, self._scores = self._database.generation, TermScores()
        return self._scores

    def is_consistent(self) -> bool:
        """Whether every chunk has the row of its text, no other row is there, and FTS5's own structure is whole."""
        with self._database.write() as connection:
            try:
                connection.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('integrity-check')")
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                    raise
                return False
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT tokens, embedded_text FROM chunk LEFT JOIN chunk_fts ON chunk_fts.rowid = chunk.row"
            ).fetchall()
            count = connection.execute("SELECT count(*) FROM chunk_fts").fetchone()[0]
        return len(rows) == count and all(row["tokens"] == text_row(row["embedded_text"]) for row in rows)

    def rebuild(self) -> None:
        """Make all rows anew from the chunks in force."""
        with self._database.write() as connection:
            connection.execute("INSERT INTO chunk_fts (chunk_fts) VALUES ('rebuild')")  # else deleting may fail
            connection.execute("DELETE FROM chunk_fts")
            chunks = connection.execute("SELECT row, embedded_text FROM chunk")
            connection.executemany(
                "INSERT INTO chunk_fts (rowid, tokens) VALUES (?, ?)",
                ((chunk["row"], text_row(chunk["embedded_text"])) for chunk in chunks.fetchall()),
            )
            connection.execute("INSERT INTO chunk_change (chunk_id) VALUES ('')")  # for those who keep scores


def text_row(embedded_text: str) -> str:
    """What FTS5 is given for a chunk: the tokens, as our own code cuts them."""
    return " ".join(tokens_of(embedded_text))
