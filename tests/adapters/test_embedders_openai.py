"""The OpenAI-compatible embedder against a server on this machine, with every fault a server can have."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from kbapp.adapters.embedders import EmbeddingOptions, open_embedder
from kbapp.adapters.embedders.openai_compatible import Endpoint, EndpointEncoder
from kbapp.adapters.embedders.texts import Role
from kbapp.domain.errors import IndexUnavailable, RequestRefused, UserError
from kbapp.domain.ports import Embedder

KEY = "sk-secret-0123"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def vector_of(text: str) -> list[float]:
    return [3.0, 4.0, float(len(text))]


def good_reply(texts: list[str]) -> Reply:
    """Embeddings that are not of unit length, last one first."""
    rows = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(texts)]
    return Reply(200, json.dumps({"data": rows[::-1]}).encode())


class QuietHTTPServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing when a client has hung up."""


class Server:
    """Answers POST by ``reply`` and keeps what it was sent."""

    def __init__(self) -> None:
        self.reply: Callable[[list[str]], Reply] = good_reply
        self.requests: list[tuple[str, str | None, dict[str, object]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, self.headers["Authorization"], sent))
                reply = outer.reply(sent["input"])
                self.send_response(reply.status)
                for name, value in ({"Content-Length": str(len(reply.body))} | reply.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: object) -> None: ...

        self.http = QuietHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self.http.server_port}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


def embedder_of(server: Server, model: str = "openai:bge-m3") -> Embedder:
    return open_embedder(EmbeddingOptions(model, server.base_url, KEY))


def with_data(data: object) -> Reply:
    return Reply(200, json.dumps({"data": data}).encode())


def test_opening_asks_the_server_nothing(server: Server) -> None:
    assert embedder_of(server).model_id == "openai:bge-m3"
    assert server.requests == []


def test_the_dimension_is_learned_from_the_server_once(server: Server) -> None:
    embedder = embedder_of(server)
    assert (embedder.dimension, embedder.dimension) == (3, 3)
    assert len(server.requests) == 1


def test_rows_come_in_the_order_of_the_texts_and_of_unit_length(server: Server) -> None:
    texts = [f"text {'x' * i}" for i in range(70)]
    expected = np.array([vector_of(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(embedder_of(server).embed_passages(texts), expected, atol=1e-6)


def test_texts_are_sent_in_batches_with_model_and_key(server: Server) -> None:
    embedder_of(server).embed_passages([f"text {i}" for i in range(70)])
    assert {(path, key) for path, key, _ in server.requests} == {("/v1/embeddings", f"Bearer {KEY}")}
    assert {sent["model"] for _, _, sent in server.requests} == {"bge-m3"}
    assert [len(sent["input"]) for _, _, sent in server.requests] == [1, 32, 32, 6]  # type: ignore[arg-type]


def test_no_key_sends_no_authorization(server: Server) -> None:
    open_embedder(EmbeddingOptions("openai:m", server.base_url)).embed_queries(["x"])
    assert {key for _, key, _ in server.requests} == {None}


def test_an_e5_model_behind_the_server_gets_its_prefixes(server: Server) -> None:
    embedder = embedder_of(server, "openai:intfloat/multilingual-e5-base")
    embedder.embed_queries(["问"])
    embedder.embed_passages(["答"])
    assert [sent["input"] for _, _, sent in server.requests[1:]] == [["query: 问"], ["passage: 答"]]


@pytest.mark.parametrize("ending", ["", "/", "/embeddings", "/embeddings/"])
def test_the_address_may_end_in_the_forms_people_copy(server: Server, ending: str) -> None:
    open_embedder(EmbeddingOptions("openai:m", server.base_url + ending)).embed_queries(["x"])
    assert server.requests[0][0] == "/v1/embeddings"


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert embedder_of(server).embed_queries(["x"]).shape == (1, 3)


def test_the_server_may_leave_out_the_index(server: Server) -> None:
    server.reply = lambda texts: with_data([{"embedding": vector_of(text)} for text in texts])
    rows = embedder_of(server).embed_queries(["", "four"])
    assert rows[0, 2] < rows[1, 2]


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(401, b'{"error": "bad key sk-secret-0123"}'), "HTTP 401: it refused the key, check embedding.api-key"),
        (Reply(403, b""), "HTTP 403: it refused the key"),
        (
            Reply(404, b'{"error": "model not found sk-secret-0123"}'),
            "HTTP 404 .*model not found.*check embedding.base-url",
        ),
        (Reply(400, b"\xff\x00\n"), "HTTP 400.*the model name bge-m3"),
        (Reply(429, b""), "HTTP 429: too many requests"),
        (Reply(500, b"out of memory"), "HTTP 500: the server failed .out of memory."),
        (Reply(503, b"", {"Content-Length": "10"}), "HTTP 503: the server failed"),
        (Reply(302, b"", {"Location": "/v1/embeddings"}), "HTTP 302, a redirect"),
        (Reply(200, b'{"data": [', {"Content-Length": "100"}), "broke off its answer"),
        (Reply(200, b"<html>"), "OpenAI's form"),
        (Reply(200, b"\xff\xfe"), "OpenAI's form"),
        (Reply(200, b"[1]"), "OpenAI's form"),
        (Reply(200, b"[" * 100_000), "OpenAI's form"),
        (Reply(200, b'{"error": "loading"}'), "OpenAI's form"),
        (with_data(None), "OpenAI's form"),
        (with_data(["AACAPw=="]), "OpenAI's form"),
        (with_data([{"embedding": "AACAPw=="}]), "OpenAI's form"),
        (with_data([{"embedding": [1.0, "x"]}]), "OpenAI's form"),
        (with_data([{"embedding": [10**400]}]), "OpenAI's form"),
        (
            with_data([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]),
            "2 embeddings for 1 texts",
        ),
        (with_data([]), "0 embeddings for 1 texts"),
        (with_data([{"index": 7, "embedding": [1.0]}]), "numbered them wrongly"),
        (with_data([{"embedding": []}]), "empty, zero, NaN or infinite"),
        (with_data([{"embedding": 1.0}]), "empty, zero, NaN or infinite"),
        (with_data([{"embedding": [None, 1.0]}]), "empty, zero, NaN or infinite"),
        (with_data([{"embedding": [0.0, 0.0]}]), "empty, zero, NaN or infinite"),
        (with_data([{"embedding": [1e39, 0.0]}]), "empty, zero, NaN or infinite"),
        (Reply(200, b'{"data": [{"embedding": [NaN, 1.0]}]}'), "empty, zero, NaN or infinite"),
        (Reply(200, b'{"data": [{"embedding": [Infinity, 1.0]}]}'), "empty, zero, NaN or infinite"),
    ],
)
def test_a_fault_of_the_server_is_one_sentence_with_its_address_and_without_the_key(
    server: Server, reply: Reply, sentence: str
) -> None:
    server.reply = lambda _texts: reply
    with pytest.raises(IndexUnavailable, match=sentence) as fault:
        embedder_of(server).embed_queries(["x"])
    assert f"{server.base_url}/embeddings" in str(fault.value)
    assert KEY not in str(fault.value)
    assert "\n" not in str(fault.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("status", "is_refusal"), [(400, True), (413, True), (422, True), (401, False), (503, False)])
def test_x9_a_text_that_is_refused_is_told_apart_from_a_server_that_fails(
    server: Server, status: int, is_refusal: bool
) -> None:
    server.reply = lambda _texts: Reply(status, b"")
    with pytest.raises(IndexUnavailable) as fault:
        embedder_of(server).embed_queries(["x"])
    assert isinstance(fault.value, RequestRefused) is is_refusal


def test_a_changed_dimension_is_explained(server: Server) -> None:
    embedder = embedder_of(server)
    embedder.embed_queries(["x"])
    server.reply = lambda texts: with_data([{"embedding": [1.0, 0.0]} for _ in texts])
    with pytest.raises(IndexUnavailable, match=r"changed the dimension .* was 3\. Rebuild the index"):
        embedder.embed_queries(["x"])


def test_a_server_that_does_not_answer_is_given_up(server: Server) -> None:
    encoder = EndpointEncoder(Endpoint(f"{server.base_url}/embeddings", "m", query_seconds=0.05))
    answer = threading.Event()

    def late_reply(texts: list[str]) -> Reply:
        answer.wait()
        return good_reply(texts)

    server.reply = late_reply
    with pytest.raises(IndexUnavailable, match=r"did not answer within 0\.05 seconds"):
        encoder.encode(["x"], Role.QUERY)
    answer.set()


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(IndexUnavailable, match=f"http://127.0.0.1:{port}/v1/embeddings cannot be reached .*refused"):
        open_embedder(EmbeddingOptions("openai:m", f"http://127.0.0.1:{port}/v1")).embed_queries(["x"])


@pytest.mark.parametrize("base_url", [None, ""])
def test_a_missing_address_names_the_setting(base_url: str | None) -> None:
    with pytest.raises(UserError, match=r"embedding\.base-url is not set"):
        open_embedder(EmbeddingOptions("openai:bge-m3", base_url))


@pytest.mark.parametrize(
    "base_url",
    [
        "127.0.0.1:11434/v1",
        "file:///etc/passwd",
        "http://",
        "http://user:sk-secret-0123@host/v1",
        "https://host/v1?key=sk-secret-0123",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://host/v1 x",
        "http://host/v1\nX: y",
        "http://主机/v1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_not_repeated(base_url: str) -> None:
    with pytest.raises(UserError, match=r"embedding\.base-url is not a plain http or https address") as refusal:
        open_embedder(EmbeddingOptions("openai:m", base_url))
    assert KEY not in str(refusal.value)


def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated() -> None:
    with pytest.raises(UserError, match=r"embedding\.api-key") as refusal:
        open_embedder(EmbeddingOptions("openai:m", "http://127.0.0.1/v1", f"{KEY}\nX: 密"))
    assert KEY not in str(refusal.value)


def test_a_missing_model_name_is_refused() -> None:
    with pytest.raises(UserError, match="without a model name"):
        open_embedder(EmbeddingOptions("openai:", "http://127.0.0.1/v1"))
