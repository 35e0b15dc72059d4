"""A document that is indexed anew in the middle of a lookup is found as it was or as it is, never not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kbapp.domain.ports import VectorHit, Vectors, VectorSearcher
from kbapp.service.knowledge_base import KnowledgeBase
from tests.knowledge import document, open_for_test, write_documents

QUERY = "缓存击穿时怎么办"
BEFORE = "# 缓存\n\n缓存击穿时加互斥锁。\n"
AFTER = "# 缓存\n\n缓存击穿时加互斥锁，并设置逻辑过期。\n"


class Interrupted:
    """A searcher; ``change`` happens after its first ``times`` searches, before their hits are read."""

    def __init__(self, searcher: VectorSearcher, change: Callable[[int], None], times: int) -> None:
        self.searcher, self.change, self.times = searcher, change, times
        self.searches = 0

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        hits = self.searcher.search(vector, limit)
        self.searches += 1
        if self.searches <= self.times:
            self.change(self.searches)
        return hits

    def distances(self, vector: Vectors, hashes: Mapping[str, str]) -> dict[str, float]:
        return self.searcher.distances(vector, hashes)


def found(kb: KnowledgeBase) -> dict[str, str]:
    """The text of each document that is considered."""
    return {candidate.stored.path: candidate.stored.chunk.content for candidate in kb.considered(QUERY).candidates}


@pytest.mark.parametrize("replica", ["true", "false"])
def test_what_is_indexed_between_search_and_reading_is_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replica: str
) -> None:
    root = tmp_path / "knowledge_base"
    write_documents(root, {"api/cache.md": BEFORE, "api/other.md": "# 日志\n\n日志保留七天。\n"})
    with open_for_test(tmp_path, milvus__read_replica=replica) as kb:
        kb.reindex()
        assert found(kb)["api/cache.md"] == BEFORE.strip()

        def change(_: int) -> None:
            write_documents(root, {"api/cache.md": AFTER})
            kb.reindex()

        search = kb._parts.lookup._search
        interrupted = Interrupted(search._vectors, change, times=1)
        monkeypatch.setattr(search, "_vectors", interrupted)
        assert found(kb)["api/cache.md"] == AFTER.strip()
        assert interrupted.searches == 2
        assert found(kb)["api/cache.md"] == AFTER.strip()
        assert interrupted.searches == 3


def test_a_lookup_does_not_search_for_ever_while_everything_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "knowledge_base"
    write_documents(root, {"api/cache.md": BEFORE, "api/other.md": "# 缓存\n\n缓存穿透时用布隆过滤器。\n"})
    with open_for_test(tmp_path) as kb:
        kb.reindex()

        def change(number: int) -> None:
            write_documents(root, {"api/cache.md": AFTER + f"第 {number} 次。\n"})
            kb.reindex()

        search = kb._parts.lookup._search
        interrupted = Interrupted(search._vectors, change, times=10)
        monkeypatch.setattr(search, "_vectors", interrupted)
        assert "api/other.md" in found(kb)
        assert interrupted.searches == 2


def test_the_summary_and_the_text_of_a_document_are_of_one_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "knowledge_base"

    def write(version: int) -> None:
        text = document("缓存", "击穿", f"## 处理\n\n缓存击穿时加互斥锁，第 {version} 版。", summary=f"第 {version} 版")
        write_documents(root, {"api/cache.md": text})

    write(1)
    write_documents(root, {"api/other.md": document("日志", "击穿", "日志保留七天。")})
    with open_for_test(tmp_path) as kb:
        kb.reindex()

        def change(number: int) -> None:
            write(number + 1)
            kb.reindex()

        search = kb._parts.lookup._search
        interrupted = Interrupted(search._vectors, change, times=1)
        monkeypatch.setattr(search, "_vectors", interrupted)
        result = kb.lookup("缓存 处理 缓存击穿时加互斥锁，第 1 版。")
        assert result.primary
        assert result.supplement
        assert (result.primary.source, result.supplement.source) == ("knowledge_base/api/cache.md",) * 2
        assert "第 2 版" in result.primary.content
        assert "第 2 版" in result.supplement.content
