"""``kbapp mcp`` over standard input and output, as a process of its own (A2, S5)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp import Client

from kbapp.bootstrap import open_knowledge_base
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, settings_for, write_documents
from tests.processes.mcp_samples import DOCUMENTS, QUERIES, comparable, looked_up_by_terminal, text_of
from tests.processes.mcp_servers import Place, raw_server, stdio_server_client
from tests.processes.milvus_processes import PATIENCE_SECONDS
from tests.waiting import wait_until

DIGGING = "The wombat digs long tunnels below the hill"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A knowledge base that is indexed, with the model that the servers use."""
    folder = tmp_path_factory.mktemp("mcp_stdio")
    write_documents(folder / "knowledge_base", DOCUMENTS)
    with serve_embedder(TinyEmbedder()) as endpoint:
        place = Place(folder, endpoint, read_replica=False)  # so that every server needs the engine
        with opened(place) as kb:
            kb.reindex()
        yield place


def opened(place: Place) -> KnowledgeBase:
    """The same knowledge base in this process, as the app has it."""
    return open_knowledge_base(
        settings_for(
            place.folder,
            embedding__model="openai:tiny",
            embedding__base_url=place.endpoint,
            milvus__read_replica=str(place.read_replica),
        )
    )


async def ask(client: Client, query: str) -> Any:
    result = await client.call_tool("lookup_knowledge", {"query": query})
    assert not result.is_error, text_of(result)
    return result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a2_thirty_calls_are_answered_as_the_terminal_answers_them(place: Place, mode: str) -> None:
    async def scenario() -> list[Any]:
        async with stdio_server_client(place, mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["lookup_knowledge"]
            return [await ask(client, QUERIES[number % len(QUERIES)]) for number in range(30)]

    answers = anyio.run(scenario)
    expected = [looked_up_by_terminal(place, f"terminal-{mode}", query) for query in QUERIES]
    assert [comparable(answer) for answer in answers[: len(QUERIES)]] == [comparable(answer) for answer in expected]
    with opened(place) as kb:
        rows = kb.telemetry(limit=100)
    ids = [answer["invocationId"] for answer in answers]
    (session,) = {row.session_id for row in rows if row.id in ids}
    assert [row.id for row in reversed(rows) if row.session_id == session] == ids


def test_a2_two_servers_at_once_are_two_sessions_over_one_engine(place: Place) -> None:
    async def scenario() -> list[Any]:
        async with stdio_server_client(place, "auto") as one, stdio_server_client(place, "legacy") as other:
            return [
                await ask(client, query) for query in ("ERR_TIMEOUT", "扩大灰度比例") for client in (one, other, one)
            ]

    answers = anyio.run(scenario)
    assert [answer["relevanceLevel"] for answer in answers[:3]] == ["PRECISE", "PRECISE", "DEDUPED"]
    assert comparable(answers[3]) == comparable(answers[4]) != comparable(answers[5])
    assert [answer["degraded"] for answer in answers] == [None] * 6


def test_a2_after_a_kill_a_client_connects_anew_and_begins_a_session(place: Place) -> None:
    async def killed() -> None:
        async with stdio_server_client(place, "auto") as client:
            await ask(client, "扩大灰度比例")
            owner = place.engine_owner()
            assert owner is not None
            os.kill(owner, signal.SIGKILL)
            with pytest.raises(Exception, match=r"[Cc]losed"):  # an error of the SDK, whichever
                await ask(client, "ERR_TIMEOUT")

    async def anew() -> Any:
        async with stdio_server_client(place, "auto") as client:
            return await ask(client, "扩大灰度比例")

    anyio.run(killed)
    answer = anyio.run(anew)
    assert (answer["relevanceLevel"] != "DEDUPED", answer["degraded"]) == (True, None)


def test_s5_beside_the_app_a_server_answers_the_same_and_takes_over_when_it_goes(place: Place) -> None:
    async def scenario() -> None:
        kb = opened(place)
        kb.lookup("扩大灰度比例")  # the app owns the engine
        assert place.engine_owner() == os.getpid()
        async with stdio_server_client(place, "auto") as client:
            first = await ask(client, "扩大灰度比例")
            assert comparable(first) == comparable(kb.lookup("扩大灰度比例", session_id="app").to_dict())
            assert first["invocationId"] in [row.id for row in kb.telemetry()]
            kb.close()
            after = await ask(client, "回滚到上一个版本")
            assert (after["found"], after["degraded"]) == (True, None)
            wait_until(lambda: place.engine_owner() not in (None, os.getpid()))
            with opened(place) as back:
                assert back.lookup("扩大灰度比例").degraded is None

    anyio.run(scenario)


def test_s2_a_server_alone_follows_the_folder(place: Place) -> None:
    async def scenario() -> None:
        async with stdio_server_client(place, "auto") as client:
            write_documents(place.folder / "knowledge_base", {"zoo/panda.md": document("Panda", "panda", DIGGING)})
            with anyio.fail_after(PATIENCE_SECONDS):
                while not (await ask(client, DIGGING))["found"]:  # its vectors as well
                    await anyio.lowlevel.checkpoint()
            assert (await ask(client, "panda"))["degraded"] is None

    anyio.run(scenario)


def test_nothing_but_the_protocol_is_on_stdout_and_the_end_of_input_ends_it(place: Place) -> None:
    with raw_server(place) as server:
        arguments = {"name": "lookup_knowledge", "arguments": {"query": "扩大灰度比例"}}
        answer = server.request(1, "tools/call", arguments)
        assert answer["result"]["structuredContent"]["found"]
        wait_until(lambda: place.engine_owner() == server.process.pid)
        assert server.end() == (0, b"", b"")
    assert place.engine_owner() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_releases_the_engine(place: Place, number: signal.Signals) -> None:
    with raw_server(place) as server:
        server.request(1, "tools/call", {"name": "lookup_knowledge", "arguments": {"query": "扩大灰度比例"}})
        wait_until(lambda: place.engine_owner() == server.process.pid)
        server.process.send_signal(number)
        assert server.process.wait(PATIENCE_SECONDS) == 0
        assert place.engine_owner() is None
        assert server.end() == (0, b"", b"")


def test_lines_that_are_no_messages_do_not_end_it(place: Place) -> None:
    with raw_server(place) as server:
        assert server.process.stdin is not None
        server.process.stdin.write(b'{\n\xff\xfe\n[]\n{"jsonrpc": "2.0"}\n')
        assert server.request(1, "ping", {})["result"] == {}
