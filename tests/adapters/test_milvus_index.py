"""The vector index, the same on Milvus Lite and on a Milvus server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kbapp.adapters.milvus_client import MilvusLimits, open_client
from kbapp.adapters.milvus_engine import EngineRole, LocalEngine, RemoteEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.adapters.milvus_schema import CONTENT_BYTES, VECTOR_FIELD
from kbapp.domain.errors import IndexUnavailable
from tests.processes.milvus_processes import free_port, milvus_server
from tests.processes.milvus_samples import (
    DIMENSION,
    MODEL,
    QUICK,
    brute_force,
    local_index,
    sample_chunk,
    sample_chunks,
    sample_id,
    sample_vectors,
    write_samples,
)
from tests.values import FixedModel

OpenIndex = Callable[..., MilvusIndex]
X, Y = np.eye(DIMENSION, dtype=np.float32)[:2]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with milvus_server(tmp_path_factory.mktemp("server")) as uri:
        yield uri


@pytest.fixture(params=["local", "server"])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenIndex]:
    uri = request.getfixturevalue("server") if request.param == "server" else None
    opened: list[MilvusIndex] = []

    def open_one(model: str = MODEL, dimension: int = DIMENSION, limits: MilvusLimits | None = None) -> MilvusIndex:
        engine = RemoteEngine(tmp_path, uri, "") if uri else LocalEngine(tmp_path)
        index = MilvusIndex(engine, model=FixedModel(model, dimension), base_folder="knowledge_base", limits=limits)
        opened.append(index)
        return index

    yield open_one
    for index in opened:
        index.close()


def stored_rows(index: MilvusIndex) -> list[dict[str, object]]:
    with closing(open_client(str(index.status().uri), "", 5.0)) as client:
        return list(client.query(index.collection_name(), filter="", limit=100, output_fields=["*"]))


def nearest(index: MilvusIndex) -> list[str]:
    return [hit.chunk_id for hit in index.search(X, 3)]


def test_search_finds_the_same_chunks_in_the_same_order_as_numpy_also_after_opening_again(
    open_index: OpenIndex,
) -> None:
    numbers = range(500)
    ids, vectors = [sample_id(number) for number in numbers], sample_vectors(numbers, 32)
    queries = sample_vectors(range(5_000, 5_020), 32)
    index = open_index(dimension=32)
    for first in range(0, 500, 125):
        index.write(sample_chunks(numbers)[first : first + 125], vectors[first : first + 125])
    answers = [index.search(query, 10) for query in queries]
    index.close()
    for query, hits in zip(queries, answers, strict=True):
        expected = brute_force(query, ids, vectors, 10)
        assert [hit.chunk_id for hit in hits] == [chunk_id for _, chunk_id in expected]
        assert [hit.distance for hit in hits] == pytest.approx([distance for distance, _ in expected], abs=1e-5)
    again = open_index(dimension=32)
    assert [again.search(query, 10) for query in queries] == answers


def test_g1_identical_near_orthogonal_and_opposite_vectors_have_squared_distances(open_index: OpenIndex) -> None:
    near = np.float32(0.8085) * X + np.sqrt(np.float32(1 - 0.8085**2)) * Y
    index = open_index()
    index.write(sample_chunks(range(4)), np.stack([X, near, Y, -X]))
    hits = index.search(X, 10)
    assert [hit.chunk_id for hit in hits] == [sample_id(number) for number in range(4)]
    assert [hit.distance for hit in hits] == pytest.approx([0.0, 0.383, 2.0, 4.0], abs=1e-5)
    assert hits[0].distance == 0.0


def test_ties_come_by_id_also_where_the_limit_cuts_them(open_index: OpenIndex) -> None:
    index = open_index()
    numbers = list(range(40))
    np.random.default_rng(1).shuffle(numbers)
    for number in numbers[:3]:
        index.write([sample_chunk(number)], X[None])
    index.write([sample_chunk(number) for number in numbers[3:]], np.repeat(X[None], 37, axis=0))
    index.write([sample_chunk(99)], Y[None])
    smallest = sorted(sample_id(number) for number in numbers)
    for limit in (1, 5, 39, 40):
        assert [hit.chunk_id for hit in index.search(X, limit)] == smallest[:limit]
    assert index.search(X, 0) == []
    assert len(index.search(X, 100_000)) == 41


def test_a_chunk_written_again_replaces_the_old_one(open_index: OpenIndex) -> None:
    index = open_index()
    index.write([sample_chunk(1), sample_chunk(2)], np.stack([X, X]))
    index.write([sample_chunk(1, content="新"), sample_chunk(1, content="最新")], np.stack([X, Y]))
    assert index.chunk_ids() == {sample_id(1), sample_id(2)}
    assert [hit.chunk_id for hit in index.search(Y, 2)] == [sample_id(1), sample_id(2)]
    assert [row["content"] for row in stored_rows(index) if row["id"] == sample_id(1)] == ["最新"]


def test_deleted_chunks_are_gone_and_unknown_ids_are_ignored(open_index: OpenIndex) -> None:
    index = open_index(limits=MilvusLimits(batch_rows=4))
    index.delete([sample_id(1)])
    write_samples(index, range(20))
    index.delete([sample_id(number) for number in range(10)] + [sample_id(77), "x' or id != '", "", "\x00"])
    assert index.chunk_ids() == {sample_id(number) for number in range(10, 20)}
    assert {hit.chunk_id for hit in index.search(X, 50)} == index.chunk_ids()
    index.delete([])


def test_all_ids_are_listed_however_many_pages_they_take(open_index: OpenIndex) -> None:
    index = open_index(limits=MilvusLimits(page_rows=7, batch_rows=10))
    write_samples(index, range(50))
    assert index.chunk_ids() == {sample_id(number) for number in range(50)}


def test_before_the_first_write_everything_is_empty(open_index: OpenIndex) -> None:
    index = open_index()
    assert index.search(X, 5) == []
    assert index.chunk_ids() == set()
    assert index.stored_models() == ()
    index.write([], np.zeros((0, DIMENSION), dtype=np.float32))
    assert index.other_collections() == ()


def test_c1_a_row_has_the_metadata_under_the_names_of_the_requirements(open_index: OpenIndex) -> None:
    index = open_index()
    chunk = sample_chunk(7)
    index.write([chunk], X[None])
    [row] = stored_rows(index)
    expected = chunk.to_metadata("knowledge_base") | {"id": chunk.id, "content_hash": chunk.content_hash}
    assert {
        name: list(value) if name == "lines" else value for name, value in row.items() if name != VECTOR_FIELD
    } == expected
    assert row[VECTOR_FIELD] == X.tolist()


def test_hostile_file_names_are_kept_and_reach_no_other_chunk(open_index: OpenIndex) -> None:
    names = [
        'a" or id > 0 or document == "b.md',
        "it's.md",
        "back\\slash.md",
        "表情😀.md",
        "%s{}.md",
        "a\x00b",
        "\udcff",
    ]
    hostile = [sample_chunk(10 + place, path=name, content="") for place, name in enumerate(names)]
    index = open_index()
    write_samples(index, range(5))
    index.write(hostile, np.repeat(X[None], len(hostile), axis=0))
    stored = {row["id"]: row["_file_name"] for row in stored_rows(index)}
    assert [stored[chunk.id] for chunk in hostile] == [*names[:5], "a\ufffdb", "?"]
    index.delete([hostile[0].id])
    assert index.chunk_ids() == stored.keys() - {hostile[0].id}


def test_text_longer_than_milvus_takes_is_cut_between_characters(open_index: OpenIndex) -> None:
    index = open_index()
    index.write([sample_chunk(1, content="网" * 70_000), sample_chunk(2, content="a" * 65_535)], np.stack([X, Y]))
    contents = {str(row["id"]): str(row["content"]) for row in stored_rows(index)}
    assert contents == {sample_id(1): "网" * (CONTENT_BYTES // 3), sample_id(2): "a" * 65_535}


@pytest.mark.parametrize(
    "vectors",
    [
        np.full((1, DIMENSION), np.nan),
        np.full((1, DIMENSION), np.inf),
        np.zeros((1, DIMENSION)),
        X[None] * 1.01,
        X[None, :7],
    ],
    ids=["nan", "infinite", "zero", "too long", "of another dimension"],
)
def test_vectors_that_are_not_finite_unit_rows_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    with closing(local_index(tmp_path)) as index:
        with pytest.raises(IndexUnavailable, match=r"embedding\.model"):
            index.write([sample_chunk(1)], vectors.astype(np.float32))
        with pytest.raises(IndexUnavailable, match=MODEL):
            index.search(vectors[0].astype(np.float32), 3)
        with pytest.raises(IndexUnavailable):
            index.write(sample_chunks(range(2)), X[None])
    assert not list(tmp_path.iterdir())


def test_vectors_of_two_models_are_never_mixed_and_those_of_the_old_one_can_be_dropped(open_index: OpenIndex) -> None:
    old, new = open_index("模型 A"), open_index("model B")
    write_samples(old, range(3))
    assert new.chunk_ids() == set()
    write_samples(new, range(3, 5))
    assert new.chunk_ids() == {sample_id(3), sample_id(4)}
    assert new.stored_models() == ("model B (8)", "模型 A (8)")
    dropped = new.other_collections()
    assert len(dropped) == 1
    assert new.drop_other_collections() == dropped
    assert (old.chunk_ids(), old.search(X, 3)) == (set(), [])
    assert new.stored_models() == ("model B (8)",)
    write_samples(old, range(1))
    assert (len(old.search(X, 3)), len(new.search(X, 3))) == (1, 2)


def test_collections_of_others_are_never_touched(open_index: OpenIndex) -> None:
    index = open_index()
    write_samples(index, range(2))
    strangers = ["chunks_notes", "chunks_0123456789ab_00000000"]
    with closing(open_client(str(index.status().uri), "", 5.0)) as client:
        for name in strangers:
            client.create_collection(name, dimension=4, timeout=5)
        assert index.drop_other_collections() == ()
        assert set(strangers) < set(client.list_collections())
        for name in strangers:
            client.drop_collection(name)


def test_threads_search_while_another_writes(open_index: OpenIndex) -> None:
    index = open_index()
    write_samples(index, range(60))
    expected = nearest(index)
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda: seen.extend(nearest(index) for _ in range(5))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for number in range(60, 64):
        index.write([sample_chunk(number)], -X[None])
    for thread in threads:
        thread.join()
    assert seen == [expected] * 30


def test_two_knowledge_bases_on_one_server_do_not_see_each_other(server: str, tmp_path: Path) -> None:
    engines = [RemoteEngine(tmp_path / name, server, "") for name in ("a", "b")]
    one, other = [MilvusIndex(engine, model=FixedModel(MODEL, 8), base_folder="kb") for engine in engines]
    with closing(one), closing(other):
        write_samples(one, range(3))
        assert other.chunk_ids() == set()
        assert other.drop_other_collections() == ()
        assert len(one.chunk_ids()) == 3
        assert one.status().role is EngineRole.REMOTE


def test_q7_a_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    uri = f"http://127.0.0.1:{free_port()}"
    engine = RemoteEngine(tmp_path, uri, "", QUICK)
    with closing(MilvusIndex(engine, model=FixedModel(MODEL, 8), base_folder="kb", limits=QUICK)) as index:
        with pytest.raises(IndexUnavailable, match=uri):
            index.search(X, 3)
        assert index.status().role is EngineRole.UNAVAILABLE
        assert uri in str(index.status().problem)


def test_a_closed_index_says_so(tmp_path: Path) -> None:
    index = local_index(tmp_path)
    index.close()
    index.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        index.chunk_ids()
