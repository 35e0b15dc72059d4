"""The scores that are kept in memory are those of FTS5 itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kbapp.adapters.database import Database
from kbapp.adapters.full_text import FullTextIndex
from kbapp.adapters.term_scores import TermScores, best_rows
from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.ports import FullTextHit
from kbapp.domain.tokens import content_tokens
from kbapp.service.knowledge_base import KnowledgeBase
from tests.knowledge import open_for_test, write_documents

WORDS = "支付 网关 超时 重试 连接池 缓存 队列 索引 timeout retry gateway ERR_TIMEOUT connectionPool v1.2 café".split()


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("scores")
    texts = {
        f"api/{number}.md": f"# {WORDS[number % 15]} {number}\n\n"
        + " ".join(WORDS[: number % 14 + 1] * (number % 4 + 1))
        for number in range(120)
    }
    write_documents(folder / "knowledge_base", texts)
    with open_for_test(folder) as kb:
        kb.reindex()
        yield kb


@pytest.fixture(scope="module")
def file(kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert kb.documents()
    return tmp_path_factory.getbasetemp() / "scores0" / "state" / DATABASE_FILE


def by_fts5(file: Path, query: str, limit: int) -> list[FullTextHit]:
    """The whole query in one statement."""
    expression = " OR ".join(f'"{token}"' for token in content_tokens(query))
    connection = sqlite3.connect(file)
    rows = connection.execute(
        "SELECT chunk.id, -bm25(chunk_fts) AS score FROM chunk_fts JOIN chunk ON chunk.row = chunk_fts.rowid"
        " WHERE chunk_fts MATCH ? ORDER BY score DESC, chunk.id LIMIT ?",
        (expression, limit),
    ).fetchall()
    connection.close()
    return [FullTextHit(*row) for row in rows]


@given(st.lists(st.sampled_from([*WORDS, "unknown", "鲸鱼"]), min_size=1, max_size=8), st.integers(1, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_hits_and_scores_are_those_of_one_query_to_the_last_bit(file: Path, words: list[str], limit: int) -> None:
    database = Database(file)
    index = FullTextIndex(database)
    query = " ".join(words)
    for _ in range(2):
        assert index.search(query, limit) == by_fts5(file, query, limit)
    database.close()


def test_a_token_stands_in_as_many_chunks_as_fts5_counts(file: Path) -> None:
    database = Database(file)
    tokens = [*content_tokens(" ".join(WORDS)), "unknown"]
    found = FullTextIndex(database).chunk_frequencies(tokens)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab (main, chunk_fts, row)")
        counted = dict(connection.execute("SELECT term, doc FROM terms").fetchall())
    assert found == {token: counted[token] for token in tokens if token in counted}
    assert "unknown" not in found
    database.close()


def test_what_is_kept_follows_every_change(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/a.md": "# a\n\n超时 重试\n", "api/b.md": "# b\n\n重试\n"})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        file = tmp_path / "state" / DATABASE_FILE
        database = Database(file)
        index = FullTextIndex(database)
        for change in (
            lambda: None,
            lambda: kb.upload("c.md", "# c\n\n超时 超时 队列\n".encode(), "api"),
            lambda: kb.delete("api/a.md"),
            lambda: kb.upload("b.md", "# b\n\n超时\n".encode(), "api", replace=True),
            index.rebuild,
        ):
            change()
            for query in ("超时", "重试 队列", "超时 重试"):
                assert index.search(query, 10) == by_fts5(file, query, 10)
        database.close()


def test_the_tokens_that_were_asked_last_are_kept_within_the_bound(file: Path) -> None:
    database = Database(file)
    tokens = content_tokens("支付 timeout retry gateway 缓存")
    with database.read() as connection:
        alone = [len(each.rows) for each in TermScores().of(connection, tokens)]
        scores = TermScores(max_postings=max(alone))
        for token in (*tokens, *tokens):
            [found] = scores.of(connection, [token])
            assert len(found.rows) == alone[tokens.index(token)]
            assert sum(len(kept.rows) for kept in scores._kept.values()) == scores._size <= max(alone)
    database.close()


def test_no_postings_are_no_rows(file: Path) -> None:
    database = Database(file)
    with database.read() as connection:
        assert best_rows(TermScores().of(connection, ["nowhere", "unknown"]), 5) == []
    database.close()
