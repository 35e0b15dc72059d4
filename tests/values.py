"""Short ways to values for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kbapp.domain.documents import Chunk, DocumentRecord, DocumentStatus, StoredChunk
from kbapp.domain.hashing import text_hash
from kbapp.domain.invocation import TOOL_NAME, Invocation
from kbapp.domain.relevance import RelevanceProfile, Thresholds
from kbapp.service.grading import GradingInForce


def make_record(path: str = "api/a.md", document_id: str = "d1", **values: object) -> DocumentRecord:
    fields: dict[str, object] = {
        "id": document_id,
        "path": path,
        "title": "A",
        "metadata": None,
        "content_hash": "h",
        "status": DocumentStatus.INDEXED,
        "error": None,
        "warning": None,
        "chunk_count": 1,
        "indexed_hash": "h",
        "indexed_with": "tiny",
        "created_at": "2026-01-01T00:00:00+00:00",
        "updated_at": "2026-01-01T00:00:00+00:00",
    }
    return DocumentRecord(**(fields | values))  # type: ignore[arg-type]  # a test names fields that exist


def make_chunk(
    content: str, *, path: str = "api/a.md", document_id: str = "d1", index: int = 0, total: int = 1
) -> StoredChunk:
    embedded_text = f"A\n{content}"
    content_hash = text_hash(embedded_text)
    chunk = Chunk(index, total, content, embedded_text, "A", "A", "A", "", "", (index + 1, index + 1))
    return StoredChunk(f"{document_id}-{content_hash[:16]}-0", document_id, path, content_hash, chunk)


@dataclass(frozen=True, slots=True)
class FixedModel:
    """An embedding model as the vector index sees it."""

    model_id: str
    dimension: int


def make_invocation(invocation_id: str = "i1", **values: object) -> Invocation:
    fields: dict[str, object] = {
        "id": invocation_id,
        "session_id": "s1",
        "tool_name": TOOL_NAME,
        "query": "支付网关超时",
        "section_title": None,
        "missing_dimension": None,
        "created_at": "2026-01-01T00:00:00.000+00:00",
    }
    return Invocation(**(fields | values))  # type: ignore[arg-type]  # a test names fields that exist


class NoSettingsFile:
    """Nothing is written."""

    path = Path("kbapp.yaml")

    def write(self, values: Mapping[str, float | str]) -> None:
        pass


def grading_in_force(profile: RelevanceProfile, thresholds: Thresholds | None = None) -> GradingInForce:
    return GradingInForce(profile, thresholds or Thresholds(), NoSettingsFile(), lambda: None)
