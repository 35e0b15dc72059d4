"""Chunks, unit vectors and indexes for the tests of the vector index."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kbapp.adapters.milvus_client import MilvusLimits
from kbapp.adapters.milvus_engine import LocalEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.documents import Chunk, StoredChunk
from kbapp.domain.ports import Vectors
from tests.values import FixedModel

MODEL = "tiny:8"
DIMENSION = 8
QUICK = MilvusLimits(connect_seconds=1.0, lock_seconds=5.0, search_seconds=1.5, write_seconds=20.0)


def sample_id(number: int) -> str:
    return f"doc{number % 7}-{number:05d}-0"


def sample_chunk(number: int, *, path: str = "api/超时.md", content: str = "支付网关超时") -> StoredChunk:
    chunk = Chunk(
        number, 999, content, content, "超时类错误", "错误码 > 超时类错误", "错误码", "超时类错误", "", (3, 9)
    )
    return StoredChunk(sample_id(number), f"doc{number % 7}", path, f"{number:064x}", chunk)


def sample_chunks(numbers: range) -> list[StoredChunk]:
    return [sample_chunk(number) for number in numbers]


def sample_vectors(numbers: range, dimension: int = DIMENSION) -> Vectors:
    """One unit row per number, around twelve centres; the same number gives the same row."""
    rows = [_sample_row(number, dimension) for number in numbers]
    return np.array(rows, dtype=np.float32)


def _sample_row(number: int, dimension: int) -> Vectors:
    centre = np.random.default_rng(number % 12).normal(size=dimension)
    row = centre + 0.3 * np.random.default_rng(1_000 + number).normal(size=dimension)
    return (row / np.linalg.norm(row)).astype(np.float32)


def local_index(state_dir: Path, limits: MilvusLimits | None = None) -> MilvusIndex:
    engine = LocalEngine(state_dir, limits)
    return MilvusIndex(engine, model=FixedModel(MODEL, DIMENSION), base_folder="knowledge_base", limits=limits)


def write_samples(index: MilvusIndex, numbers: range) -> None:
    index.write(sample_chunks(numbers), sample_vectors(numbers))


def brute_force(query: Vectors, ids: list[str], vectors: Vectors, limit: int) -> list[tuple[float, str]]:
    """The squared distances by numpy, nearest first, ties by id."""
    distances = ((vectors.astype(np.float64) - query.astype(np.float64)) ** 2).sum(axis=1)
    return sorted(zip(distances.tolist(), ids, strict=True))[:limit]
