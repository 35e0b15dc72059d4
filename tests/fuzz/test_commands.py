"""Any arguments of the command end with an answer, or with a sentence and status 1 or 2; never with a traceback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kbapp.surfaces.cli import COMMANDS, main
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.fuzz.inputs import files, fuzz, texts
from tests.knowledge import document, write_documents

SERVERS = {"app", "mcp"}  # these two run until they are stopped
FOLDERS = ["docs", "docs/api", "none", "docs/api/a.md", "", "-"]
PATHS = [*FOLDERS, "fuzz.jsonl", "fuzz.md", "api/a.md", "docs/api/b.md", "../docs/api/a.md", "fuzz.tar.gz", "\udcff"]
JUNK = ["-", "--nope", "-x", "--json=1", "--limit", "--limit=-1", "--help", "", "extra"]
# Of a process's arguments: no NUL, and of what is no UTF-8 what Python makes of its bytes.
spoken = texts.map(lambda text: text.replace("\0", "").encode("utf-8", "replace").decode())
words = st.sampled_from([*PATHS, "api", "ERR_TIMEOUT", "超时", "SELECT * FROM tool_invocation", "constrained"]) | spoken


def values_of(parameter: click.Parameter) -> st.SearchStrategy[str]:
    if isinstance(parameter.type, click.Choice):
        return st.sampled_from([str(choice) for choice in parameter.type.choices])
    if isinstance(parameter.type, click.Path):
        return st.sampled_from(PATHS)
    return st.integers(-1, 2**64).map(str) if isinstance(parameter.type, click.IntRange) else words


def lines_of(command: click.Command) -> st.SearchStrategy[list[str]]:
    """What can be said to it, by what it takes."""
    if isinstance(command, click.Group):
        lines = [lines_of(inner).map(lambda line, name=name: [name, *line]) for name, inner in command.commands.items()]
        return st.one_of(lines)
    said: list[st.SearchStrategy[list[str]]] = []
    for parameter in sorted(command.params, key=lambda parameter: isinstance(parameter, click.Argument)):
        value = values_of(parameter).map(lambda value: [value])
        if isinstance(parameter, click.Option):
            name = parameter.opts[0]
            value = value.map(lambda value, name=name: [name, *value]) if not parameter.is_flag else st.just([name])
            said.append(value if parameter.required else st.just([]) | st.just([]) | value)
        else:
            said.append(value)
    options = sum(isinstance(parameter, click.Option) for parameter in command.params)
    said.insert(options, st.just(["--"]))
    return st.tuples(*said).map(lambda parts: [word for part in parts for word in part])


out_of_form = st.lists(
    st.sampled_from([*JUNK, *(COMMANDS.keys() - SERVERS)]) | spoken.filter(lambda text: text not in SERVERS), max_size=4
)
roots = st.sampled_from(["docs"] * 9 + FOLDERS)
configs = st.sampled_from([[]] * 9 + [["--config", "fuzz.md"], ["--config", "none"], ["--state-dir", "docs/api/a.md"]])


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve_embedder(TinyEmbedder()) as url:
        yield url


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """The command sets up the logging of its process, which is that of all other tests here."""
    root, own = logging.getLogger(), logging.getLogger("kbapp")
    before = (root.handlers[:], root.level, own.level)
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    own.setLevel(before[2])


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - SERVERS))
@given(st.data(), files, st.none() | spoken)
@fuzz(6)
def test_a_command_ends_with_an_answer_or_a_sentence_whatever_it_is_told(
    tmp_path_factory: pytest.TempPathFactory,
    endpoint: str,
    name: str,
    data: st.DataObject,
    content: bytes,
    stdin: str | None,
) -> None:
    line = data.draw(lines_of(COMMANDS[name].load()))
    check(tmp_path_factory.mktemp("command"), endpoint, ["--root", "docs", name, *line], content, stdin)


@given(roots, configs, out_of_form, files)
@fuzz(30)
def test_any_words_end_with_an_answer_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory,
    endpoint: str,
    root: str,
    config: list[str],
    line: list[str],
    content: bytes,
) -> None:
    check(tmp_path_factory.mktemp("command"), endpoint, ["--root", root, *config, *line], content, None)


def check(folder: Path, endpoint: str, line: list[str], content: bytes, stdin: str | None) -> None:
    write_documents(folder / "docs", {"api/a.md": document("支付", "ERR_TIMEOUT", "超时")})
    for name in ("fuzz.jsonl", "fuzz.md"):
        (folder / name).write_bytes(content)
    environ = {"KBAPP_EMBEDDING__MODEL": "openai:tiny", "KBAPP_EMBEDDING__BASE_URL": endpoint}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(main, line, input=stdin, env=environ)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code in (0, 1, 2)
    assert "Traceback" not in result.stderr
    assert result.exit_code == 0 or result.stderr.strip()
    assert "\x1b" not in result.output
    assert not list(Path(folder).glob("docs/**/*.tmp"))
