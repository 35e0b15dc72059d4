"""Any message to the MCP server has an answer that tells nothing of the inside, and the server goes on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.server.stdio import stdio_server

from kbapp.domain.relevance import HintLanguage
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.mcp_privacy import HiddenFolders
from kbapp.surfaces.mcp_server import DEFECT, ServerOptions, build_server
from tests.fuzz.inputs import fuzz, texts
from tests.knowledge import document, open_for_test, write_documents

METHODS = ["tools/call", "tools/list", "resources/read", "resources/list", "prompts/get", "ping", "initialize", "none",
           "notifications/cancelled", "completion/complete", "logging/setLevel", "resources/subscribe"]  # fmt: skip
NAMES = ["query", "section_title", "missing_dimension", "name", "arguments", "uri", "_meta", "cursor", "language"]
keys = st.sampled_from(NAMES) | texts
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just("lookup_knowledge")
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
# The SDK's client sends no lone surrogates; as raw lines they are sent.
well_formed = texts.map(lambda text: text.encode("utf-8", "replace").decode())
arguments = well_formed | values.map(lambda value: json.loads(json.dumps(value).replace("\\ud800", "?")))
calls = st.fixed_dictionaries(
    {}, optional={"query": arguments, "section_title": arguments, "missing_dimension": arguments}
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | values, "method": st.sampled_from(METHODS) | texts},
    optional={"id": st.integers() | values, "params": st.dictionaries(keys, values, max_size=3) | values},
)
lines = messages.map(json.dumps) | values.map(json.dumps) | texts
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "0"},
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("fuzz")
    write_documents(folder / "knowledge_base", {"api/a.md": document("支付", "ERR_TIMEOUT", "## 超时\n\n超时重试。")})
    with open_for_test(folder) as kb:
        kb.reindex()
        yield kb


def options() -> ServerOptions:
    return ServerOptions(HintLanguage.EN, lambda _: "s", HiddenFolders({}))


class Wire:
    """Standard input, which ends once the last message is answered, and standard output."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.written = ""
        self.is_done: anyio.Event

    async def __aiter__(self) -> AsyncIterator[str]:
        for line in self.lines:
            yield f"{line}\n"
        with anyio.fail_after(60):
            await self.is_done.wait()

    async def write(self, text: str) -> None:
        self.written += text
        if '"id":"last"' in text:
            self.is_done.set()

    async def flush(self) -> None:
        """Nothing is held back."""


@given(calls, well_formed, well_formed)
@fuzz(60)
def test_a_client_has_an_answer_to_anything_it_asks(
    kb: KnowledgeBase, asked: dict[str, Any], uri: str, prompt: str
) -> None:
    async def ask() -> list[str]:
        answers = []
        async with Client(build_server(kb, options()), mode="legacy") as client:
            answers.append((await client.call_tool("lookup_knowledge", asked)).model_dump_json())
            for request in (client.read_resource(uri), client.get_prompt("executor", {"language": prompt})):
                try:
                    answers.append((await request).model_dump_json())
                except MCPError as error:
                    answers.append(error.message)
        return answers

    for answer in anyio.run(ask):
        assert answer
        assert DEFECT not in answer
        assert "Traceback" not in answer


@given(st.lists(lines, max_size=5))
@fuzz(60)
def test_after_any_lines_the_server_still_answers(kb: KnowledgeBase, sent: list[str]) -> None:
    spoken = [
        json.dumps({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": HELLO}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        *(line.encode("utf-8", "replace").decode().replace("\n", " ").replace("\r", " ") for line in sent),
        json.dumps({"jsonrpc": "2.0", "id": "last", "method": "tools/list"}),
    ]
    wire = Wire(spoken)

    async def serve() -> None:
        server = build_server(kb, options())
        wire.is_done = anyio.Event()
        async with stdio_server(wire, wire) as streams:  # type: ignore[arg-type]  # all that it asks of a file
            await server.run(*streams, server.create_initialization_options())

    anyio.run(serve)
    assert [json.loads(line)["jsonrpc"] for line in wire.written.splitlines()]
    assert "Traceback" not in wire.written
    assert DEFECT not in wire.written
