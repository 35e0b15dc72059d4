"""What docs/agents.md says holds: its Python runs, its configurations start a server, its commands exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters

from kbapp.surfaces.cli import COMMANDS, main
from tests.chat_server import asks, says, serve_chat
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import write_documents
from tests.processes.mcp_samples import DOCUMENTS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/agents.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with a knowledge base."""
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
    with serve_embedder(TinyEmbedder()) as endpoint:
        monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)
        yield tmp_path


def here(text: str, folder: Path) -> str:
    """A snippet with this test's interpreter and folders in place of those that stand for the reader's."""
    text = text.replace("/path/to/kbapp/.venv/bin/python", sys.executable)
    return text.replace("/path/to/knowledge_base", str(folder / "knowledge_base")).replace(
        "/path/to/.kbapp", str(folder / ".kbapp")
    )


def run_block(code: str) -> None:
    exec(compile(code, "agents.md", "exec"), {"__name__": "__main__"})  # the block is ours


def test_the_openai_example_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = [block for block in blocks("python") if "OpenAI" in block]
    with serve_chat() as chat:
        chat.script = [asks("ERR_TIMEOUT"), says("The payment gateway timed out.")]
        monkeypatch.setenv("OPENAI_BASE_URL", chat.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        run_block(code)
        (told,) = [json.loads(text) for text in chat.told("tool")]
    assert told["relevanceLevel"] == "PRECISE"
    assert capsys.readouterr().out == "The payment gateway timed out.\n"


def test_the_readme_holds_the_same_examples() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert next(block for block in blocks("python") if "OpenAI" in block) in readme
    assert blocks("json")[0] in readme


def test_the_python_example_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [block for block in blocks("python") if "my-task" in block]
    run_block(code)
    first, again = capsys.readouterr().out.splitlines()
    assert first == "PRECISE knowledge_base/api/payment.md"
    assert again.startswith("DEDUPED 该内容已在本会话提供过")


def test_the_client_example_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [block for block in blocks("python") if "StdioServerParameters" in block]
    environment = {name: value for name, value in os.environ.items() if name.startswith("KBAPP_")}
    run_block(here(code, folder).replace("    args=", f"    cwd={str(ROOT)!r}, env={environment!r}, args="))
    assert "relevanceLevel: PRECISE" in capsys.readouterr().out


def configurations() -> list[dict[str, Any]]:
    values = [json.loads(block) for block in blocks("json")]
    return [next(iter((value.get("mcpServers") or value["servers"]).values())) for value in values]


def test_the_configuration_with_an_interpreter_starts_a_server(folder: Path) -> None:
    (server,) = [each for each in configurations() if each["command"].endswith("python")]
    arguments = [here(argument, folder) for argument in server["args"]]

    async def tools() -> list[str]:
        parameters = StdioServerParameters(command=here(server["command"], folder), args=arguments, cwd=ROOT)
        async with Client(parameters) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(tools) == ["lookup_knowledge"]


def commands() -> list[list[str]]:
    """Each way in which a client starts ``kbapp``, and the server over HTTP, in words."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for block in blocks("sh") for line in block.splitlines() if "--root" in line]
    lines += re.findall(r"`(claude mcp add [^`]*)`", readme)
    return [shlex.split(line) for line in lines] + [[each["command"], *each["args"]] for each in configurations()]


def test_every_way_to_start_a_server_is_a_command_that_exists_with_its_folders() -> None:
    assert len(commands()) == 5
    for words in commands():
        options = words[words.index("--root") :]
        assert words[words.index("--root") - 1].rpartition("/")[2] == "kbapp"
        assert (options[2], options[4]) == ("--state-dir", "mcp")
        outcome = CliRunner().invoke(main, [*options, "--help"])
        assert (outcome.exit_code, "Serve lookup_knowledge" in outcome.stdout) == (0, True), outcome.output


def test_the_address_is_the_servers() -> None:
    (line,) = [line for block in blocks("sh") for line in block.splitlines() if "--transport http kbapp" in line]
    port = {parameter.name: parameter.default for parameter in COMMANDS["mcp"].load().params}["port"]
    assert shlex.split(line)[-1] == f"http://127.0.0.1:{port}/mcp?session=my-task"
