"""``kbapp mcp --transport http``: sessions in both protocol modes, and who may ask (A2, Q10)."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client, MCPError

from kbapp.surfaces.cli import main
from kbapp.surfaces.mcp_server import NOT_FOUND
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import open_for_test, write_documents
from tests.processes.mcp_samples import DOCUMENTS, QUERIES, comparable, looked_up_by_terminal, text_of
from tests.processes.mcp_servers import HANDSHAKE, Place, http_server

URI = "kbapp://document/api/payment.md"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("mcp_http")
    write_documents(folder / "knowledge_base", DOCUMENTS)
    with serve_embedder(TinyEmbedder()) as endpoint:
        place = Place(folder, endpoint)
        indexed = CliRunner().invoke(main, [*place.arguments()[2:-1], "index"], env=place.environment)
        assert indexed.exit_code == 0, indexed.output
        yield place


@pytest.fixture(scope="module")
def url(place: Place) -> Iterator[str]:
    """One server for the tests of this module."""
    with http_server(place) as (address, _):
        yield address


async def ask(client: Client, query: str = "ERR_TIMEOUT") -> Any:
    result = await client.call_tool("lookup_knowledge", {"query": query})
    assert not result.is_error, text_of(result)
    return result.structured_content


async def reads(client: Client) -> bool:
    """Whether the document that ``ERR_TIMEOUT`` gives can be read; that it was not given is the one reason."""
    try:
        return bool((await client.read_resource(URI)).contents)
    except MCPError as error:
        if error.message != NOT_FOUND:
            raise
        return False


async def levels_and_reads(url: str, mode: str, times: int = 2) -> tuple[list[str], bool]:
    """The levels of the same question asked several times by one client, and whether it may read the document then."""
    async with Client(url, mode=mode) as client:
        return [(await ask(client))["relevanceLevel"] for _ in range(times)], await reads(client)


def test_a2_thirty_calls_are_answered_as_the_terminal_answers_them(place: Place, url: str) -> None:
    async def scenario() -> list[Any]:
        async with Client(f"{url}?session=thirty") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["lookup_knowledge"]
            return [await ask(client, QUERIES[number % len(QUERIES)]) for number in range(30)]

    answers = anyio.run(scenario)
    expected = [looked_up_by_terminal(place, "terminal", query) for query in QUERIES]
    assert [comparable(answer) for answer in answers[: len(QUERIES)]] == [comparable(answer) for answer in expected]
    with open_for_test(place.folder) as kb:
        rows = kb.telemetry(session_id="thirty", limit=100)
    assert [row.id for row in reversed(rows)] == [answer["invocationId"] for answer in answers]


def test_older_protocol_each_connection_is_a_session(place: Place, url: str) -> None:
    async def scenario() -> list[Any]:
        async with Client(url, mode="legacy") as one, Client(f"{url}?session=x", mode="legacy") as other:
            before = [await reads(one), await reads(other)]
            levels = [(await ask(client))["relevanceLevel"] for client in (one, other, one, other)]
            return [before, levels, await reads(one), await reads(other)]

    assert anyio.run(scenario) == [[False, False], ["PRECISE", "PRECISE", "DEDUPED", "DEDUPED"], True, True]
    assert anyio.run(levels_and_reads, url, "legacy") == (["PRECISE", "DEDUPED"], True)
    with open_for_test(place.folder) as kb:
        assert kb.telemetry(session_id="x") == []  # the header of the connection comes first


def test_current_protocol_the_session_is_the_one_in_the_url(url: str) -> None:
    async def scenario() -> list[Any]:
        async with Client(f"{url}?session=a") as one, Client(f"{url}?session=b") as other:
            levels = [(await ask(client))["relevanceLevel"] for client in (one, other, one)]
            async with Client(f"{url}?session=a") as again:
                return [*levels, (await ask(again))["relevanceLevel"], await reads(again)]

    assert anyio.run(scenario) == ["PRECISE", "PRECISE", "DEDUPED", "DEDUPED", True]


@pytest.mark.parametrize("query", ["", "?session=", "?session=%20", "?other=a"])
def test_current_protocol_without_a_session_calls_share_nothing_and_nothing_can_be_read(url: str, query: str) -> None:
    assert anyio.run(levels_and_reads, url + query, "auto") == (["PRECISE", "PRECISE"], False)


def test_many_clients_at_once_are_all_answered(url: str) -> None:
    answers: list[tuple[list[str], bool]] = []

    async def client(number: int) -> None:
        mode = "legacy" if number % 2 else "auto"
        answers.append(await levels_and_reads(f"{url}?session=many-{number}", mode, times=3))

    async def scenario() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(client, number)

    anyio.run(scenario)
    assert answers == [(["PRECISE", "DEDUPED", "DEDUPED"], True)] * 8


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8765"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_other_hosts_and_origins_are_refused(url: str, headers: dict[str, str], status: int) -> None:
    address = url.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(address, timeout=60)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE})
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request("POST", "/mcp", body, accepted | headers)
        assert connection.getresponse().status == status
    finally:
        connection.close()


def test_it_listens_on_loopback_and_a_taken_port_is_a_sentence(place: Place, url: str) -> None:
    assert url.startswith("http://127.0.0.1:")
    port = url.removesuffix("/mcp").rpartition(":")[2]
    words = [*place.arguments()[2:], "--transport", "http", "--port", port]
    refused = CliRunner().invoke(main, words, env=place.environment)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"Error: port {port} on 127.0.0.1 cannot be used (")


def test_a2_after_a_kill_a_new_server_knows_the_session_of_the_url(place: Place) -> None:
    with http_server(place) as (first, process):
        assert anyio.run(levels_and_reads, f"{first}?session=kept", "auto", 1) == (["PRECISE"], True)
        os.kill(process.pid, 9)
        process.wait()
        with http_server(place) as (second, _):
            assert anyio.run(levels_and_reads, f"{second}?session=kept", "auto", 1) == (["DEDUPED"], True)
            assert anyio.run(levels_and_reads, f"{second}?session=new", "auto", 1) == (["PRECISE"], True)
