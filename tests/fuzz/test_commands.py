"""Any arguments of the command end with an answer, or with a sentence and status 1 or 2; never with a traceback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

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
PATHS = [*FOLDERS, "fuzz.jsonl", "api/a.md", "docs/api/b.md", "../docs/api/a.md", "fuzz.md", "\udcff"]
JUNK = [
    "--", "-", "--nope", "-x", "--json=1", "--limit", "--limit=-1", "--limit=9999999999999999999999", "--help", "",
    "--json", "--sql", "--note=", "--session", "--prune", "--explain", "--force", "show", "clear", "helpful",
]  # fmt: skip
OPTIONS = ["--session", "--section", "--missing-dimension", "--sql", "--note", "--category", "--to", "--executor"]
# Of a process's arguments: no NUL, and of what is no UTF-8 what Python makes of its bytes.
spoken = texts.map(lambda text: text.replace("\0", "").encode("utf-8", "replace").decode())
words = st.sampled_from(JUNK) | st.sampled_from(PATHS) | spoken
arguments = st.lists(
    st.lists(words, min_size=1, max_size=1) | st.tuples(st.sampled_from(OPTIONS), words).map(list), max_size=4
).map(lambda groups: [word for group in groups for word in group])
commands = st.sampled_from(sorted(COMMANDS.keys() - SERVERS)) | spoken.filter(lambda text: text not in SERVERS)
given_folders = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(FOLDERS) for name in ("--root", "--state-dir", "--config")}
)


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


@given(given_folders, commands, arguments, files, st.none() | spoken)
@fuzz(60)
def test_any_arguments_end_with_an_answer_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory,
    endpoint: str,
    folders: dict[str, str],
    command: str,
    others: list[str],
    content: bytes,
    stdin: str | None,
) -> None:
    folder = tmp_path_factory.mktemp("command")
    write_documents(folder / "docs", {"api/a.md": document("支付", "ERR_TIMEOUT", "超时")})
    for name in ("fuzz.jsonl", "fuzz.md"):
        (folder / name).write_bytes(content)
    environ = {"KBAPP_EMBEDDING__MODEL": "openai:tiny", "KBAPP_EMBEDDING__BASE_URL": endpoint}
    named = [word for pair in ({"--root": "docs"} | folders).items() for word in pair]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(main, [*named, command, *others], input=stdin, env=environ)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code in (0, 1, 2)
    assert "Traceback" not in result.stderr
    assert result.exit_code == 0 or result.stderr.strip()
    assert "\x1b" not in result.output
    assert not list(Path(folder).glob("docs/**/*.tmp"))
