"""Copies to a Milvus server that cannot be: one sentence each, and nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import pytest

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.ports import Vectors
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents
from tests.processes.milvus_processes import free_port, milvus_server
from tests.service.test_server_copy import copied, done, indexed, rows_there

DOCUMENTS = {
    "api/timeout.md": document("超时", "ERR_TIMEOUT", "支付网关请求超时。"),
    "domain/cache.md": document("缓存", "击穿", "缓存击穿时加互斥锁。"),
}
NOWHERE = "http://127.0.0.1:1"


class RefusingEmbedder(TinyEmbedder):
    """Another model, which does not take texts about caches."""

    def __init__(self) -> None:
        super().__init__(dimension=32)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if any("缓存" in text for text in texts):
            raise IndexUnavailable("the model refuses this text")
        return super().embed_passages(texts)


class TokenCheck(grpc.GenericRpcHandler):
    """A Milvus server that accepts no token, as far as a client sees it."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        refusal = "auth check failure, please check username and password are correct"
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, refusal)
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with milvus_server(tmp_path_factory.mktemp("server")) as uri:
        yield uri


@contextmanager
def token_check() -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2), handlers=[TokenCheck()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop(None).wait()


def refusal(tmp_path: Path, uri: str, **settings: str) -> str:
    with open_for_test(tmp_path, **settings) as kb, pytest.raises((UserError, IndexUnavailable)) as caught:
        kb.copy_to_server(uri)
    return str(caught.value)


def change_database(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "state/kbapp.sqlite3")) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("127.0.0.1:19530", "'127.0.0.1:19530' has no scheme: write http://127.0.0.1:19530, or https://"),
        ("milvus.example:443", "'milvus.example:443' has no scheme: write http://milvus.example:443, or https://"),
        (
            "./vectors",
            "'./vectors' is no address of a Milvus server (http://host:port): to have the vectors in a folder,",
        ),
        ("/srv/milvus.db", "set milvus.uri to it and run `kbapp index`"),
        ("C:\\milvus.db", "set milvus.uri to it and run `kbapp index`"),
        ("", "'' is no address of a Milvus server (http://host:port)"),
        ("tcp://127.0.0.1:19530", "'tcp://127.0.0.1:19530' is no address of a Milvus server: write http://host:port"),
        ("http://", "'http://' is no address of a Milvus server"),
        ("http://127.0.0.1:99999", "'http://127.0.0.1:99999' is no address of a Milvus server"),
        ("http://[::1", "'http://[::1' is no address of a Milvus server"),
    ],
)
def test_what_is_no_address_of_a_server_is_refused_with_the_way_out(tmp_path: Path, uri: str, sentence: str) -> None:
    assert sentence in refusal(tmp_path, uri)


def test_a_password_in_the_address_is_refused_and_not_repeated(tmp_path: Path) -> None:
    sentence = refusal(tmp_path, "http://root:geheim@127.0.0.1:19530")
    assert "put them into milvus.token" in sentence
    assert "geheim" not in sentence


def test_a_server_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    indexed(tmp_path, DOCUMENTS)
    uri = f"http://127.0.0.1:{free_port()}"
    assert f"The vector index at {uri} did not answer" in refusal(tmp_path, uri)


def test_a_token_that_the_server_refuses_is_told_from_a_server_that_is_not_there(tmp_path: Path) -> None:
    indexed(tmp_path, DOCUMENTS)
    with token_check() as uri:
        sentence = refusal(tmp_path, uri, milvus__token="root:geheim")
    assert sentence == f"The Milvus server at {uri} refuses the token: set milvus.token to one that it accepts."


def test_where_nothing_is_indexed_yet_there_is_nothing_to_copy(tmp_path: Path, server: str) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    assert refusal(tmp_path, server) == "nothing is indexed yet: run `kbapp index` first"
    assert rows_there(tmp_path, server) == set()


def test_a_document_that_is_still_to_be_indexed_stops_the_copy(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, DOCUMENTS)
    change_database(tmp_path, "UPDATE api_document SET status = 'PENDING' WHERE file_path LIKE '%cache.md'")
    sentence = "1 document is still to be indexed (domain/cache.md): run `kbapp index` first"
    assert refusal(tmp_path, server) == sentence
    assert rows_there(tmp_path, server) == set()
    with open_for_test(tmp_path) as kb:
        kb.reindex()
    assert copied(tmp_path, server).written == 2


def test_documents_that_failed_are_listed_and_the_others_copied(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, DOCUMENTS)
    (tmp_path / "knowledge_base/binary.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    (tmp_path / "knowledge_base/api/timeout.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        former = {chunk.id for chunk in kb.chunks("api/timeout.md")}
    report = copied(tmp_path, server)
    assert [problem.path for problem in report.failed] == ["api/timeout.md", "binary.md"]
    assert all(problem.error for problem in report.failed)
    assert former <= rows_there(tmp_path, server), "the version that answers here answers there"


def test_when_every_document_failed_there_is_nothing_to_copy(tmp_path: Path, server: str) -> None:
    (tmp_path / "knowledge_base").mkdir()
    (tmp_path / "knowledge_base/binary.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    indexed(tmp_path, {})
    assert refusal(tmp_path, server).startswith("no document could be indexed (binary.md: ")


def test_vectors_that_are_not_at_hand_stop_the_copy_and_the_way_out_embeds_them(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, DOCUMENTS)
    change_database(tmp_path, "DELETE FROM embedding_cache")
    sentence = refusal(tmp_path, server)
    assert sentence.startswith("2 chunks are without a vector in the embedding cache (")
    assert f"set milvus.uri to {server} and run `kbapp index`" in sentence
    assert rows_there(tmp_path, server) == set()
    with open_for_test(tmp_path, milvus__uri=server) as kb:
        assert kb.reindex().embedded == 2
    assert done(copied(tmp_path, server)) == (2, 0, 0)


def test_vectors_of_another_model_are_not_copied(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, DOCUMENTS)
    with open_for_test(tmp_path, TinyEmbedder(32)) as kb, pytest.raises(UserError, match="made with tiny:64") as caught:
        kb.copy_to_server(server)
    assert "`kbapp index` embeds every chunk anew" in str(caught.value)


def test_a_document_that_the_new_model_refuses_is_left_out_as_it_is_here(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, DOCUMENTS)
    with open_for_test(tmp_path, RefusingEmbedder()) as kb:
        kb.reindex()
        report = kb.copy_to_server(server)
        again = kb.copy_to_server(server)
    assert [problem.path for problem in report.failed] == ["domain/cache.md"]
    assert (done(report), report.consistent) == ((1, 1, 0), True)
    assert (done(again), again.consistent) == ((1, 0, 0), True)
