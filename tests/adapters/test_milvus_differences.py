"""The rows of the vector index against the chunks in force: what is missing, too many, twice, or out of date."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.adapters.milvus_client import MilvusClient, MilvusLimits, open_client
from kbapp.adapters.milvus_engine import RemoteEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.adapters.milvus_rows import PAGE_BYTES, compare_rows, read_rows
from kbapp.adapters.milvus_schema import ROW_FIELDS, ChunkCollection
from kbapp.domain.documents import StoredChunk
from kbapp.domain.ports import VectorDifferences
from tests.processes.milvus_processes import milvus_server
from tests.processes.milvus_samples import (
    DIMENSION,
    MODEL,
    local_index,
    sample_chunk,
    sample_chunks,
    sample_id,
    sample_vectors,
    write_samples,
)
from tests.values import FixedModel

NONE: frozenset[str] = frozenset()


@pytest.fixture(params=["local", "server"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MilvusIndex]:
    if request.param == "local":
        with closing(local_index(tmp_path)) as index:
            yield index
        return
    with milvus_server(tmp_path / "server") as uri, remote_index(tmp_path, uri) as index:
        yield index


def remote_index(state_dir: Path, uri: str) -> closing[MilvusIndex]:
    engine = RemoteEngine(state_dir, uri, "")
    return closing(MilvusIndex(engine, model=FixedModel(MODEL, DIMENSION), base_folder="knowledge_base"))


def same(rows: int) -> VectorDifferences:
    return VectorDifferences(rows, NONE, NONE, NONE, NONE)


def raw_client(index: MilvusIndex) -> closing[MilvusClient]:
    return closing(open_client(str(index.status().uri), "", 5.0))


def test_an_index_without_a_collection_lacks_every_chunk(index: MilvusIndex) -> None:
    assert index.differences([]) == same(0)
    assert index.differences(sample_chunks(range(2))).missing == {sample_id(0), sample_id(1)}


def test_what_was_written_does_not_differ_however_long_or_odd_its_texts_are(index: MilvusIndex) -> None:
    plain = sample_chunk(0)
    odd = replace(
        sample_chunk(1, content="字" * 30_000), chunk=replace(plain.chunk, title="a\x00b\ud800", content="字" * 30_000)
    )
    chunks = [plain, odd, *sample_chunks(range(2, 8))]
    index.write(chunks, sample_vectors(range(8)))
    assert index.differences(chunks) == same(8)


def test_missing_and_orphaned_rows_are_named(index: MilvusIndex) -> None:
    write_samples(index, range(5))
    found = index.differences(sample_chunks(range(2, 7)))
    assert found == VectorDifferences(5, {sample_id(5), sample_id(6)}, {sample_id(0), sample_id(1)}, NONE, NONE)  # type: ignore[arg-type]
    assert found.to_write == {sample_id(5), sample_id(6)}


@pytest.mark.parametrize("field", ["path", "lines", "content", "index", "total", "breadcrumb", "content_hash"])
def test_c1_a_row_whose_metadata_is_not_that_of_its_chunk_is_outdated(tmp_path: Path, field: str) -> None:
    with closing(local_index(tmp_path)) as index:
        write_samples(index, range(3))
        chunks = [sample_chunk(0), changed(sample_chunk(1), field), sample_chunk(2)]
        found = index.differences(chunks)
        assert found == VectorDifferences(3, NONE, NONE, NONE, frozenset({sample_id(1)}))
        index.write([chunks[1]], sample_vectors(range(1, 2)))
        assert index.differences(chunks) == same(3)


def changed(stored: StoredChunk, field: str) -> StoredChunk:
    values = {"lines": (4, 9), "content": "新", "index": 7, "total": 8, "breadcrumb": "新 > 旧"}
    if field in values:
        return replace(stored, chunk=replace(stored.chunk, **{field: values[field]}))
    return replace(stored, **{"path": "domain/超时.md"} if field == "path" else {"content_hash": "f" * 64})  # type: ignore[arg-type]


def test_s4_rows_that_are_there_twice_are_named_and_one_again_when_they_are_written(tmp_path: Path) -> None:
    chunks = sample_chunks(range(6))
    with milvus_server(tmp_path / "server") as uri, remote_index(tmp_path, uri) as index, raw_client(index) as client:
        write_samples(index, range(6))
        name = index.collection_name()
        client.upsert(name, client.query(name, filter="", limit=9, output_fields=["*"]))
        log = next((tmp_path / "server").rglob("wal"))
        shutil.copytree(log, tmp_path / "log")
        client.flush(name)
    shutil.rmtree(log)
    (tmp_path / "log").rename(log)  # as when the process is killed before it can delete its log
    for file in (tmp_path / "server").rglob("*.idx"):
        file.unlink()  # the server may have been killed while it saved one, and does not mend that by itself
    with milvus_server(tmp_path / "server") as uri, remote_index(tmp_path, uri) as index:
        found = index.differences(chunks[:5])
        assert (found.rows, found.repeated) == (12, {chunk.id for chunk in chunks})
        assert (found.orphaned, found.to_write) == ({chunks[5].id}, {chunk.id for chunk in chunks[:5]})
        index.delete(sorted(found.orphaned))
        write_samples(index, range(5))
        assert index.differences(chunks[:5]) == same(5)


def test_rows_of_a_server_come_in_pages(tmp_path: Path) -> None:
    with closing(local_index(tmp_path)) as index, raw_client(index) as client:
        write_samples(index, range(8))
        server = ChunkCollection("", MODEL, DIMENSION, is_lite=False)
        for limits, row_bytes in ((MilvusLimits(page_rows=3), 1), (MilvusLimits(), PAGE_BYTES)):
            rows = read_rows(client, server, limits, ROW_FIELDS, row_bytes)
            assert compare_rows(rows, sample_chunks(range(8)), "knowledge_base") == same(8)
