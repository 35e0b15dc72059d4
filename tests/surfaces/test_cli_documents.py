"""``kbapp upload`` and ``kbapp delete``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbapp.domain.ports import Vectors
from kbapp.surfaces.cli import main
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, tree, write_documents

PAYMENT = document("支付网关错误码", "ERR_TIMEOUT, 超时", "支付网关请求超时。")
Run = Callable[..., Result]


class RefusingEmbedder(TinyEmbedder):
    """Has no vector for a text that holds its word."""

    word = "毒"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        rows = super().embed_passages(texts)
        rows[[self.word in text for text in texts]] = 0.0
        return rows


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve_embedder(RefusingEmbedder()) as url:
        yield url


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Run:
    write_documents(tmp_path, {"payment.md": PAYMENT, "docs/domain/cache.md": document("缓存", "击穿", "加互斥锁。")})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
    monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["--root", "docs", *arguments])

    return invoke


def values(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def documents(run: Run) -> list[str]:
    return [record["path"] for record in values(run("documents", "--json"))]


def test_upload_stores_and_indexes_and_prints_the_record(run: Run, tmp_path: Path) -> None:
    uploaded = values(run("upload", "payment.md", "--category", "api", "--json"))
    assert (tmp_path / "docs/api/payment.md").read_text(encoding="utf-8") == PAYMENT
    record = next(record for record in values(run("documents", "--json")) if record["path"] == "api/payment.md")
    assert uploaded == record | {"outcome": "indexed", "warning": None, "identical_to": None}
    assert record["source"] == "docs/api/payment.md"
    assert values(run("lookup", "ERR_TIMEOUT", "--json"))["relevanceLevel"] == "PRECISE"


def test_upload_says_unchanged_replaced_and_identical(run: Run, tmp_path: Path) -> None:
    upload = ("upload", "payment.md", "--category", "api", "--json")
    run(*upload)
    assert values(run(*upload))["outcome"] == "unchanged"
    other = values(run("upload", "payment.md", "--category", "guides", "--json"))
    assert (other["outcome"], other["identical_to"]) == ("indexed", "api/payment.md")
    (tmp_path / "payment.md").write_text("# changed\n", encoding="utf-8")
    refused = run(*upload)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "--replace" in refused.stderr
    assert values(run(*upload, "--replace"))["outcome"] == "replaced"


def test_upload_for_people_is_a_line_with_what_to_know(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_text("---\ntitle: Error: disk full\n---\ntext\n", encoding="utf-8")
    first = run("upload", "bad.md", "--category", "api").stdout.split("\n")
    assert first[0] == "indexed: api/bad.md  1 chunks  bad"
    assert first[1].startswith("warning: ")
    second = run("upload", "bad.md", "--category", "guides").stdout
    assert "the same text is there as api/bad.md" in second


def test_an_upload_that_is_stored_but_not_indexed_prints_the_record_and_is_an_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.md").write_text("有毒的文本\n", encoding="utf-8")
    result = run("upload", "bad.md", "--category", "api", "--json")
    record = json.loads(result.stdout)
    assert (result.exit_code, record["outcome"], record["status"]) == (1, "failed", "FAILED")
    assert f"Error: api/bad.md is stored but not indexed: {record['error']}" in result.stderr
    assert (tmp_path / "docs/api/bad.md").exists()
    plain = run("upload", "bad.md", "--category", "guides")
    assert (plain.exit_code, plain.stdout) == (1, "")
    monkeypatch.setattr(RefusingEmbedder, "word", "nothing")
    assert [record["status"] for record in values(run("documents", "--json"))] == ["INDEXED"] * 3


@pytest.mark.parametrize(
    ("file", "category", "sentence"),
    [
        ("none.md", "api", "none.md is not a file"),
        ("docs", "api", "docs is not a file"),
        ("x" * 300 + ".md", "api", "cannot be read (File name too long)"),
        ("notes.txt", "api", "does not end in .md"),
        ("payment.md", "..", 'the category ".." is a path'),
        ("payment.md", "", "is empty"),
        ("picture.md", "api", "not text but binary"),
        ("big.md", "api", "5,242,881 bytes, more than the 5,242,880 of knowledge.max-file-size"),
    ],
)
def test_u2_a_refused_upload_is_one_line_and_status_1(
    run: Run, tmp_path: Path, file: str, category: str, sentence: str
) -> None:
    write_documents(
        tmp_path, {"notes.txt": "x", "picture.md": b"\x89PNG\r\n\x1a\n" + bytes(64), "big.md": b"x" * (5 * 2**20 + 1)}
    )
    before = tree(tmp_path / "docs")
    result = run("upload", file, "--category", category, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert sentence in result.stderr
    assert len([line for line in result.stderr.strip().split("\n") if line.startswith("Error")]) == 1
    assert "Traceback" not in result.stderr
    assert tree(tmp_path / "docs") == before


def test_an_upload_without_a_category_is_wrong_usage(run: Run) -> None:
    assert run("upload", "payment.md").exit_code == 2


@pytest.mark.parametrize("path", ["domain/cache.md", "docs/domain/cache.md"])
def test_u7_delete_prints_the_record_of_what_is_gone(run: Run, tmp_path: Path, path: str) -> None:
    run("index")
    deleted = values(run("delete", path, "--json"))
    assert (deleted["path"], deleted["title"]) == ("domain/cache.md", "缓存")
    assert tree(tmp_path / "docs") == {"domain": None}
    assert documents(run) == []
    assert values(run("lookup", "击穿", "--json"))["found"] is False
    again = run("delete", path)
    assert (again.exit_code, again.stdout) == (1, "")
    assert "domain/cache.md is not in the knowledge base" in again.stderr


def test_delete_for_people_is_a_line(run: Run) -> None:
    assert run("delete", "domain/cache.md").stdout == "deleted: domain/cache.md\n"
