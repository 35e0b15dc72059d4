"""What one lookup costs, counted and not timed: embeddings, calls of Milvus, files opened, SQL statements."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

SEMANTIC = "what to do when the payment gateway does not answer in time"
KEYWORD = "ERR_TIMEOUT_1003"
MAX_STATEMENTS = 22  # of a semantic lookup, the telemetry row with its triggers and the session included
MAX_KEYWORD_STATEMENTS = 10

_opened: list[str] | None = None


def _note_opened(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_note_opened)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SQL statements of all connections that are opened from now on."""
    executed: list[str] = []
    connect = sqlite3.connect

    def note(statement: str) -> None:
        if "'main'." not in statement:  # FTS5's own
            executed.append(statement)

    def traced(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]
        connection.set_trace_callback(note)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return executed


@contextmanager
def opened_files() -> Iterator[list[str]]:
    global _opened
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


def open_indexed(tmp_path: Path, embedder: TinyEmbedder, **settings: str) -> KnowledgeBase:
    """60 documents, so that full text is fused in; warm, as any call after the first one finds it."""
    bodies = {number: f"text {number * 7} of note {number} and {number * 13}" for number in range(60)}
    texts = {f"api/{number}.md": document(f"Note {number}", f"word{number}", body) for number, body in bodies.items()}
    timeout = document("Payment timeout", KEYWORD, "The payment gateway does not answer in time: try again.")
    write_documents(tmp_path / "knowledge_base", texts | {"api/timeout.md": timeout})
    kb = open_for_test(tmp_path, embedder, **settings)
    kb.reindex()
    for query in (SEMANTIC, KEYWORD):
        kb.lookup(query, session_id="warm")
    return kb


def test_a_semantic_lookup_embeds_once_reads_one_file_and_asks_sqlite_a_few_times(
    tmp_path: Path, statements: list[str]
) -> None:
    embedder = TinyEmbedder()
    with open_indexed(tmp_path, embedder) as kb, opened_files() as opened:
        before = embedder.calls
        statements.clear()
        assert kb.lookup(SEMANTIC, session_id="warm2").supplement is not None
        assert embedder.calls == before + 1
        documents = [file for file in opened if file.endswith(".md")]
        assert len(documents) <= 2, documents
        assert len(statements) <= MAX_STATEMENTS, statements
        assert statements.count("BEGIN IMMEDIATE") == 1, "the telemetry row is the only thing that is written"


def test_a_keyword_lookup_embeds_nothing_and_asks_no_index(tmp_path: Path, statements: list[str]) -> None:
    embedder = TinyEmbedder()
    with open_indexed(tmp_path, embedder) as kb, opened_files() as opened:
        before = embedder.calls
        statements.clear()
        assert kb.lookup(KEYWORD, session_id="warm2").found
        assert embedder.calls == before
        assert not [statement for statement in statements if "chunk" in statement and "INSERT" not in statement]
        assert len(statements) <= MAX_KEYWORD_STATEMENTS, statements
        assert len([file for file in opened if file.endswith(".md")]) <= 1


def test_milvus_is_asked_once_without_the_replica_and_not_at_all_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pymilvus import MilvusClient

    calls: list[str] = []
    search = MilvusClient.search

    def counted(client: MilvusClient, *arguments: object, **options: object) -> object:
        calls.append("search")
        return search(client, *arguments, **options)

    monkeypatch.setattr(MilvusClient, "search", counted)
    with open_indexed(tmp_path / "with", TinyEmbedder()) as kb:
        kb.lookup(SEMANTIC)
        assert calls == []
    with open_indexed(tmp_path / "without", TinyEmbedder(), milvus__read_replica="false") as kb:
        calls.clear()
        kb.lookup(SEMANTIC)
        assert calls == ["search"]
