"""``kbapp export`` and ``kbapp import`` at the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kbapp.surfaces.cli import main
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    texts = {"api/支付.md": document("支付网关错误码", "ERR_TIMEOUT", "支付网关请求超时。")}
    write_documents(tmp_path / "knowledge_base", texts)
    monkeypatch.chdir(tmp_path)
    with serve_embedder(TinyEmbedder()) as endpoint:
        monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
        monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)
        yield lambda *arguments: CliRunner().invoke(main, arguments)


def test_what_was_exported_is_imported_elsewhere_and_answers_the_same(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kbapp.yaml").write_text("llm.api-key: sk-1\nretrieval.l1.top-k: 4\n")
    run("index")
    before = json.loads(run("lookup", "支付超时", "--json").stdout)
    exported = run("export", "b.tar.gz", "--json")
    assert (exported.exit_code, exported.stderr) == (0, "")
    report = json.loads(exported.stdout)
    assert list(report) == [
        "file",
        "bytes",
        "documents",
        "telemetry",
        "feedback",
        "vectors",
        "schema",
        "model",
        "settings",
        "secrets_left_out",
        "left_out",
        "seconds",
    ]
    assert (report["documents"], report["telemetry"], report["model"]) == (1, 1, "openai:tiny")
    assert report["secrets_left_out"] == ["llm.api-key"]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    imported = run("import", "../b.tar.gz", "--json")
    assert (imported.exit_code, imported.stderr) == (0, "")
    assert json.loads(imported.stdout)["settings_written"] == ["retrieval.l1.top-k"]
    assert json.loads(run("index", "--json").stdout)["embedded"] == 0
    assert json.loads(run("doctor", "--json").stdout)["consistent"]
    after = json.loads(run("lookup", "支付超时", "--json").stdout)
    assert before | {"invocationId": ""} == after | {"invocationId": ""}


def test_the_texts_say_what_was_done_what_was_left_out_and_what_comes_next(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kbapp.yaml").write_text("llm.api-key: sk-1\nretrieval.l1.top-k: 4\n")
    (tmp_path / "knowledge_base/gone\x1b.md").symlink_to("nowhere.md")
    run("index")
    text = run("export", "b.tar.gz").stdout
    assert "b.tar.gz (" in text
    assert "1 documents, 0 telemetry rows, 0 marks, " in text
    assert "left out as secret: llm.api-key\n" in text
    assert "left out: gone" in text
    assert "\x1b" not in text
    assert "sk-1" not in text
    text = run("import", "b.tar.gz", "--replace").stdout
    assert "what was here before is kept as " in text
    assert "stays as it is" not in text
    assert text.endswith("run `kbapp index` next: it makes the vectors ready for search\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "knowledge_base/b.tar.gz"), "is inside the knowledge base"),
        (("export", "there.tar.gz"), "overwrite it with --force"),
        (("import", "none.tar.gz"), "none.tar.gz: no such file: name the archive that `kbapp export` made"),
        (("import", "there.tar.gz"), "is damaged or no .tar.gz"),
    ],
)
def test_what_cannot_be_is_one_line_on_stderr_and_status_1(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "there.tar.gz").write_text("precious")
    result = run(*arguments, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


_HOLDER = """
import sys
from kbapp import open_knowledge_base
with open_knowledge_base(sys.argv[1]) as kb:
    kb.telemetry()
    print("open", flush=True)
    sys.stdin.read()
"""


def test_an_import_while_another_process_has_it_open_is_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    run("index")
    run("export", "b.tar.gz")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, "knowledge_base"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "open\n"
        result = run("import", "b.tar.gz", "--replace")
        holder.communicate("")
    assert result.exit_code == 1
    assert "another process has" in result.stderr
    assert "end the app, `kbapp mcp`" in result.stderr
    assert result.stderr.count("\n") == 1
    assert run("import", "b.tar.gz", "--replace").exit_code == 0
