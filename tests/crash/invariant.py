"""What holds of a knowledge base after its next start, whatever happened before: nothing lost, nothing twice (S4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from kbapp.adapters.milvus_engine import LocalEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.documents import DocumentStatus
from kbapp.domain.ports import Embedder
from kbapp.service.index_report import ChangeKind
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import open_for_test
from tests.processes.crash_samples import RefusingEmbedder, keyword

EPSILON = 1e-5
ALL_HITS = 1_000


def assert_repaired(folder: Path) -> None:
    """One reconcile by a process that has just started, and nothing is left to do."""
    embedder = RefusingEmbedder()
    with open_for_test(folder, embedder) as kb:
        kb.refresh()
        assert_invariant(kb, folder)
        embedder.texts.clear()
        assert {change.kind for change in kb.refresh().changes} <= {ChangeKind.FAILED}
        assert embedder.texts == []


def assert_invariant(kb: KnowledgeBase, folder: Path, embedder: Embedder | None = None) -> None:
    """Right after a reconcile: the stores agree, and each document is found by what it alone says."""
    health = kb.health()
    assert health.consistent, health.problems
    texts = dict(read_texts(folder / "knowledge_base"))
    records = {record.path: record for record in kb.documents()}
    assert list(records) == sorted(texts)
    assert not list((folder / "knowledge_base").rglob("*.tmp"))  # the engine overwrites its own with its next write
    indexed = {path for path, record in records.items() if record.status is DocumentStatus.INDEXED}
    for path in indexed:
        for marker in markers(texts[path]):
            holders = {other for other in indexed if marker in markers(texts[other])}
            assert found_by_keyword(kb, marker) & indexed == holders, (marker, path)
    assert_chunks(kb, {path: texts[path] for path in indexed})
    assert_vectors(kb, folder, embedder or TinyEmbedder())


def assert_chunks(kb: KnowledgeBase, texts: dict[str, str]) -> None:
    """Every line of a body stands in a chunk, at the line that the chunk says."""
    for path, text in texts.items():
        lines = text.split("\n")
        held = {number for stored in kb.chunks(path) for number in numbers(stored.chunk.lines)}
        first = text.count("\n", 0, len(frontmatter(text)))
        assert {number for number, line in enumerate(lines) if line.strip() and number >= first} <= held, path
        for stored in kb.chunks(path):
            assert stored.chunk.content.split("\n")[0] == lines[stored.chunk.lines[0] - 1], path


def assert_vectors(kb: KnowledgeBase, folder: Path, embedder: Embedder) -> None:
    """The row of every chunk in force has the vector of the chunk's text."""
    chunks = [chunk for record in kb.documents() for chunk in kb.chunks(record.path)]
    engine = LocalEngine(folder / "state")
    with closing(MilvusIndex(engine, model=embedder, base_folder="knowledge_base")) as index:
        for chunk in chunks:
            hits = index.search(embedder.embed_passages([chunk.chunk.embedded_text])[0], ALL_HITS)
            assert chunk.id in {hit.chunk_id for hit in hits if hit.distance < EPSILON}, chunk


def read_texts(root: Path) -> Iterator[tuple[str, str]]:
    for file in (file for file in root.rglob("*") if file.suffix.lower() == ".md"):
        yield str(file.relative_to(root)), file.read_text(encoding="utf-8")


def frontmatter(text: str) -> str:
    """With both its lines ``---``; empty when a killed editor left only a part of it."""
    end = text.find("\n---\n", 4)
    return text[: end + 5] if text.startswith("---\n") and end > 0 else ""


def markers(text: str) -> set[str]:
    """The keywords of a document."""
    return set(re.findall(r"KEY_(\w+)", frontmatter(text)))


def numbers(lines: tuple[int, int]) -> range:
    """Zero-based."""
    return range(lines[0] - 1, lines[1])


def found_by_keyword(kb: KnowledgeBase, marker: str) -> set[str]:
    matches = kb.unrecorded_lookup(keyword(marker)).invocation.retrieval_details["l0_matches"]
    assert isinstance(matches, list)
    return {str(match["document"]) for match in matches if isinstance(match, dict)}
