"""L0 of one process beside another that indexes: two knowledge bases over the same folders."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Vectors
from kbapp.service.index_report import IndexProgress
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents


class DownEmbedder(TinyEmbedder):
    """Cannot embed passages while it is down."""

    is_down = False

    def embed_passages(self, texts: list[str]) -> Vectors:  # type: ignore[override]
        if self.is_down:
            raise IndexUnavailable("the endpoint does not answer")
        return super().embed_passages(texts)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    write_documents(root, {"api/x.md": document("甲", "甲", "正文。"), "api/y.md": document("乙", "乙", "正文。")})
    return root


@pytest.fixture
def embedder() -> DownEmbedder:
    return DownEmbedder()


@pytest.fixture
def indexing(tmp_path: Path, root: Path, embedder: DownEmbedder) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path, embedder) as kb:
        yield kb


@pytest.fixture
def beside(tmp_path: Path, root: Path) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path) as kb:
        yield kb


def held(kb: KnowledgeBase) -> dict[str, str]:
    return {entry.path: entry.title for entry in kb.entries()}


def test_s5_what_another_process_indexed_is_followed(
    root: Path, indexing: KnowledgeBase, beside: KnowledgeBase
) -> None:
    indexing.reindex()
    write_documents(root, {"api/x.md": document("丙", "丙", "正文。"), "api/z.md": document("丁", "丁", "正文。")})
    (root / "api/y.md").rename(root / "y.md")
    indexing.reindex()
    beside.follow_keywords()
    assert held(beside) == {"api/x.md": "丙", "api/z.md": "丁", "y.md": "乙"}
    indexing.delete("api/x.md")
    beside.follow_keywords()
    assert held(beside) == {"api/z.md": "丁", "y.md": "乙"}


def test_u5_files_without_a_record_keep_the_entries_of_the_start_scan(root: Path, beside: KnowledgeBase) -> None:
    write_documents(root, {"api/y.md": b"\x89PNG\r\n\x1a\n" + bytes(100)})
    beside.follow_keywords()
    assert held(beside) == {"api/x.md": "甲", "api/y.md": "乙"}


def test_s5_a_file_without_a_record_that_is_gone_loses_its_entry(root: Path, beside: KnowledgeBase) -> None:
    (root / "api/x.md").unlink()
    beside.follow_keywords()
    assert held(beside) == {"api/y.md": "乙"}


def test_s5_a_folder_that_is_gone_leaves_the_entries(root: Path, beside: KnowledgeBase) -> None:
    root.rename(root.parent / "elsewhere")
    beside.follow_keywords()
    assert held(beside) == {"api/x.md": "甲", "api/y.md": "乙"}


def test_u5_a_new_file_is_an_entry_before_it_is_indexed_and_a_new_version_is_not(
    root: Path, indexing: KnowledgeBase, beside: KnowledgeBase, embedder: DownEmbedder
) -> None:
    indexing.reindex()
    embedder.is_down = True
    write_documents(
        root, {"api/x.md": document("丙", "丙", "别的正文。"), "api/z.md": document("丁", "丁", "新的正文。")}
    )
    indexing.reindex()
    beside.follow_keywords()
    assert held(beside) == held(indexing) == {"api/x.md": "甲", "api/y.md": "乙", "api/z.md": "丁"}


def test_u5_a_file_of_which_nothing_is_indexed_is_followed_as_it_is(
    root: Path, indexing: KnowledgeBase, embedder: DownEmbedder
) -> None:
    embedder.is_down = True
    indexing.reindex()
    write_documents(root, {"api/x.md": document("丙", "丙", "别的正文。")})
    indexing.reindex()
    assert held(indexing)["api/x.md"] == "丙"


def test_s2_new_files_are_entries_while_the_first_of_them_is_embedded(
    root: Path, indexing: KnowledgeBase, beside: KnowledgeBase
) -> None:
    seen: list[dict[str, str]] = []

    def look(_: IndexProgress) -> None:
        beside.follow_keywords()
        seen.extend([held(indexing), held(beside)])

    write_documents(root, {"api/z.md": document("丁", "丁", "新的正文。")})
    indexing.reindex(look)
    assert seen[0] == seen[1] == {"api/x.md": "甲", "api/y.md": "乙", "api/z.md": "丁"}


def test_s5_a_file_that_changed_after_it_was_indexed_waits_for_the_next_reconcile(
    root: Path, indexing: KnowledgeBase, beside: KnowledgeBase
) -> None:
    write_documents(root, {"api/x.md": document("丙", "丙", "正文。")})
    indexing.reindex()
    write_documents(root, {"api/x.md": document("丁", "丁", "正文。")})
    beside.follow_keywords()
    assert held(beside)["api/x.md"] == "甲"
