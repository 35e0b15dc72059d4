"""``kbapp index --to URI`` at the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kbapp.domain.documents import FileProblem
from kbapp.service.server_copy import CopyReport
from kbapp.surfaces.cli import main
from kbapp.surfaces.cli_server_copy import copy_text, copy_values
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents
from tests.processes.milvus_processes import milvus_server

Run = Callable[..., Result]
SCALING = Path(__file__).parents[2] / "docs/scaling.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with milvus_server(tmp_path_factory.mktemp("server")) as uri:
        yield uri


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    texts = {"api/payment.md": document("支付网关错误码", "ERR_TIMEOUT", "支付网关请求超时。")}
    write_documents(tmp_path / "docs", texts | {"binary.md": b"\x89PNG\r\n\x1a\n" + bytes(64)})
    monkeypatch.chdir(tmp_path)
    with serve_embedder(TinyEmbedder()) as endpoint:
        monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
        monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)
        yield lambda *arguments: CliRunner().invoke(main, ["--root", "docs", *arguments])


def test_index_to_a_server_reports_what_was_done_and_index_there_finds_nothing_to_do(
    run: Run, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = json.loads(run("index", "--json").stdout)["chunks"]
    result = run("index", "--to", server, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert list(report) == [
        "uri",
        "collection",
        "chunks",
        "written",
        "removed",
        "embedded",
        "failed",
        "consistent",
        "seconds",
    ]
    assert (report["uri"], report["consistent"], report["removed"], report["embedded"]) == (server, True, 0, 0)
    assert report["chunks"] == report["written"] == chunks
    assert [problem["path"] for problem in report["failed"]] == ["binary.md"]
    text = run("index", "--to", server).stdout
    assert f"{chunks} chunks in the collection {report['collection']} at {server}\n0 written, 0 removed" in text
    assert "not indexed here: binary.md: " in text
    assert text.endswith(f"to search there, set milvus.uri to {server}\n")
    monkeypatch.setenv("KBAPP_MILVUS__URI", server)
    assert json.loads(run("index", "--json").stdout)["embedded"] == 0
    assert json.loads(run("doctor", "--json").stdout)["engine"] == {
        "role": "remote",
        "uri": server,
        "owner_pid": None,
        "problem": None,
    }


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("127.0.0.1:19530", "write http://127.0.0.1:19530"),
        ("vectors/", "set milvus.uri to it and run `kbapp index`"),
        ("http://127.0.0.1:1", "at http://127.0.0.1:1 did not answer"),
    ],
)
def test_a_copy_that_cannot_be_is_one_line_on_stderr_and_status_1(run: Run, uri: str, words: str) -> None:
    run("index")
    result = run("index", "--to", uri, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_document_on_scaling_shows_the_json_of_a_copy() -> None:
    shown = re.findall(r"\$ kbapp index --to \S+ --json\n(\{.*?\n\})\n", SCALING.read_text(encoding="utf-8"), re.DOTALL)
    report = CopyReport("", "", 0, 0, 0, consistent=True, failed=(), seconds=0.0)
    assert [list(json.loads(text)) for text in shown] == [list(copy_values(report))]


def test_a_copy_that_does_not_hold_together_says_so_and_text_from_files_is_plain() -> None:
    failed = (FileProblem("a\x1b[31m.md", "cannot be read"),)
    text = copy_text(CopyReport("http://h:1", "chunks_1", 3, 2, 1, consistent=False, failed=failed, seconds=0.5))
    assert "2 written, 1 removed, 0 embedded in 0.5 s; consistent: no" in text
    assert "\x1b" not in text
