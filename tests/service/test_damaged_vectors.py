"""Vectors that are missing or damaged in the cache: answers stay right, doctor says so, the next index makes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kbapp.bootstrap import DATABASE_FILE
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import open_for_test, write_documents

QUERY = "缓存击穿 怎么处理"
DAMAGES = {
    "missing": "DELETE FROM embedding_cache",
    "short": "UPDATE embedding_cache SET vector = x'0102030405'",
    "zero": "UPDATE embedding_cache SET vector = zeroblob(256)",
    "nan": f"UPDATE embedding_cache SET vector = x'{np.full(64, np.nan, '<f4').tobytes().hex()}'",
    "infinite": f"UPDATE embedding_cache SET vector = x'{np.full(64, np.inf, '<f4').tobytes().hex()}'",
    "long": f"UPDATE embedding_cache SET vector = x'{np.full(64, 9.0, '<f4').tobytes().hex()}'",
}


def damage(folder: Path, sql: str) -> None:
    with sqlite3.connect(folder / "state" / DATABASE_FILE) as connection:
        connection.execute(sql)
    connection.close()


@pytest.fixture
def embedder() -> TinyEmbedder:
    return TinyEmbedder()


@pytest.fixture
def kb(tmp_path: Path, embedder: TinyEmbedder) -> Iterator[KnowledgeBase]:
    texts = {f"api/{name}.md": f"# {name}\n\n{name}的处理方法\n" for name in ("缓存击穿", "消息积压", "连接池")}
    write_documents(tmp_path / "knowledge_base", texts)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
    with open_for_test(tmp_path, embedder) as kb:
        yield kb


@pytest.mark.parametrize("sql", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.filterwarnings("error")
def test_damaged_vectors_are_not_searched_are_reported_and_are_made_again(
    kb: KnowledgeBase, tmp_path: Path, embedder: TinyEmbedder, sql: str
) -> None:
    expected = kb.lookup(QUERY).to_dict() | {"invocationId": ""}
    damage(tmp_path, sql)
    with open_for_test(tmp_path, embedder) as other:
        found = other.lookup(QUERY)
        assert found.to_dict() | {"invocationId": ""} == expected
        assert other.overview().in_memory is None
        assert "lacks 3 vectors" in " ".join(problem.problem for problem in other.health().problems)
        assert other.reindex().embedded == 3
        assert other.health().consistent
        assert other.lookup(QUERY).to_dict() | {"invocationId": ""} == expected
        assert other.overview().in_memory == 3


def test_a_missing_vector_is_made_by_an_index_that_nothing_else_gives_work(
    kb: KnowledgeBase, tmp_path: Path, embedder: TinyEmbedder
) -> None:
    assert kb.reindex().embedded == 0
    damage(tmp_path, "DELETE FROM embedding_cache WHERE text_hash = (SELECT min(text_hash) FROM embedding_cache)")
    assert kb.reindex().embedded == 1
    assert kb.reindex().embedded == 0
