import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbapp.surfaces.cli import COMMANDS, main
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents

DOCUMENTS = {
    "api/payment.md": document("支付网关错误码", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n支付网关请求超时。"),
    "domain/cache.md": document("缓存", "击穿", "缓存击穿时加互斥锁。"),
    "bad.md": "---\ntitle: Error: disk full\n---\n\n磁盘写满了。\n",
    "binary.md": b"\x89PNG\r\n\x1a\n" + bytes(64),
}
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve_embedder(TinyEmbedder()) as url:
        yield url


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Run:
    write_documents(tmp_path / "docs", DOCUMENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
    monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)

    def invoke(*arguments: str, root: str = "docs", stdin: str | None = None) -> Result:
        return CliRunner().invoke(main, ["--root", root, *arguments], input=stdin)

    return invoke


def values(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_index_reports_what_was_done_under_the_pinned_names(run: Run) -> None:
    report = values(run("index", "--json"))
    assert {name: report[name] for name in ("documents", "entries", "indexed", "unchanged", "removed")} == {
        "documents": 4,
        "entries": 2,
        "indexed": 3,
        "unchanged": 0,
        "removed": 0,
    }
    assert report["chunks"] == report["embedded"] > 0
    assert [failed["path"] for failed in report["failed"]] == ["binary.md"]
    assert [warning["path"] for warning in report["warnings"]] == ["bad.md"]
    second = values(run("index", "--json"))
    assert (second["indexed"], second["unchanged"], second["embedded"]) == (0, 3, 0)
    assert [failed["path"] for failed in second["failed"]] == ["binary.md"]


def test_index_without_json_is_text_for_people(run: Run) -> None:
    result = run("index")
    assert "4 documents, 2 in the keyword index" in result.stdout
    assert "failed: binary.md: " in result.stdout


def test_lookup_indexes_what_is_new_and_answers_in_camel_case(run: Run) -> None:
    result = values(run("lookup", "ERR_TIMEOUT", "--json"))
    assert list(result) == [
        "found",
        "primary",
        "supplement",
        "relevanceLevel",
        "completenessHint",
        "retrievedDomainsThisSession",
        "message",
        "dedupReason",
        "degraded",
        "invocationId",
    ]
    assert result["relevanceLevel"] == "PRECISE"
    assert result["primary"]["source"] == "docs/api/payment.md"
    assert result["primary"]["matchType"] == "exact_L0"


def test_lookup_explain_adds_the_telemetry_row(run: Run) -> None:
    explain = values(run("lookup", "缓存击穿", "--explain", "--json"))["explain"]
    assert explain["tool_name"] == "lookup_knowledge"
    assert explain["l1_called"] is False
    assert explain["retrieval_details"]["l0_titles"] == ["缓存"]


def test_lookup_for_people_shows_level_source_and_reason(run: Run) -> None:
    output = run("lookup", "ERR_TIMEOUT", "--explain").stdout
    assert output.startswith("PRECISE")
    assert "docs/api/payment.md" in output
    assert "The query is the keyword 'ERR_TIMEOUT'" in output


def test_documents_lists_every_record_with_its_state(run: Run) -> None:
    records = values(run("documents", "--json"))
    assert [(record["path"], record["status"]) for record in records] == [
        ("api/payment.md", "INDEXED"),
        ("bad.md", "INDEXED"),
        ("binary.md", "FAILED"),
        ("domain/cache.md", "INDEXED"),
    ]
    assert records[0]["source"] == "docs/api/payment.md"
    assert records[0]["metadata"]["keywords"] == ["ERR_TIMEOUT", "超时"]
    assert records[1]["metadata"] is None


def test_c1_chunks_under_their_names_by_either_form_of_the_path(run: Run) -> None:
    chunks = values(run("chunks", "api/payment.md", "--json"))
    assert chunks == values(run("chunks", "docs/api/payment.md", "--json"))
    assert list(chunks[0]) == [
        "_source",
        "_file_name",
        "category",
        "chunkIndex",
        "totalChunks",
        "title",
        "breadcrumb",
        "heading_h1",
        "heading_h2",
        "heading_h3",
        "content",
        "lines",
    ]
    assert chunks[0]["breadcrumb"] == "支付网关错误码 > 超时类错误"
    assert chunks[0]["lines"][0] == 7


def test_doctor_says_whether_the_indexes_agree(run: Run) -> None:
    before = values(run("doctor", "--json"))
    assert not before["consistent"]
    run("index")
    after = values(run("doctor", "--json"))
    assert after["consistent"]
    assert after["model"] == "openai:tiny"
    assert after["counts"]["vectors"] == after["counts"]["chunks"] > 0
    assert [problem["problem"].split(":")[0] for problem in after["problems"]] == ["binary.md"]


def test_s3_doctor_shows_the_size_of_the_cache_and_prunes_it(run: Run, tmp_path: Path) -> None:
    run("index")
    cached = values(run("doctor", "--json"))["counts"]["cached_vectors"]
    assert "pruned" not in values(run("doctor", "--json"))
    (tmp_path / "docs" / "domain" / "cache.md").unlink()
    run("index")
    pruned = values(run("doctor", "--prune", "--json"))
    assert pruned["consistent"]
    assert pruned["pruned"] == cached - pruned["counts"]["cached_vectors"] > 0
    text = run("doctor", "--prune").stdout
    assert "0 cached vectors deleted" in text
    assert f"{pruned['counts']['cached_bytes']} cached bytes" in text


def test_prompt_answers_a_pipe_line_by_line(run: Run) -> None:
    output = run("prompt", stdin="ERR_TIMEOUT\n\n   \n" + "x" * 3000 + "\n击穿\n").stdout
    assert output.count("PRECISE") == 2
    assert "3000 characters" in output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["lookup", ""], "the query is empty"),
        (["lookup", "x" * 100_000], "100000 characters"),
        (["chunks", "api/none.md"], "api/none.md"),
        (["chunks", "../../etc/passwd"], "passwd"),
        (["--config", "none.yaml", "index"], "none.yaml does not exist"),
    ],
)
def test_an_error_of_the_user_is_one_line_and_status_1(run: Run, arguments: list[str], sentence: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert result.stdout == ""
    assert len([line for line in result.stderr.strip().split("\n") if line.startswith("Error")]) == 1
    assert "Traceback" not in result.stderr


def test_k8_an_explicit_root_that_does_not_exist_is_an_error(run: Run, tmp_path: Path) -> None:
    result = run("index", root="nowhere")
    assert result.exit_code == 1
    assert "--root nowhere is not a folder" in result.stderr
    assert not (tmp_path / "nowhere").exists()


def test_wrong_usage_is_status_2(run: Run) -> None:
    assert run("lookup").exit_code == 2
    assert run("nonsense").exit_code == 2


@pytest.mark.parametrize("name", [*COMMANDS, "nonsense"])
def test_a_misspelt_command_is_answered_with_the_nearest_one(run: Run, name: str) -> None:
    result = run(f"{name}s")
    assert result.exit_code == 2
    assert f"No such command '{name}s'." in result.stderr
    assert (f"Did you mean {name!r}?" in result.stderr) == (name in COMMANDS)


@pytest.mark.parametrize("arguments", [["index"], ["lookup", "x"], ["documents"]])
def test_an_empty_folder_is_said_to_be_empty(run: Run, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    result = run(*arguments, "--json", root="empty")
    json.loads(result.stdout)
    assert f"{tmp_path / 'empty'} holds no .md file: put one there, store one with `kbapp upload" in result.stderr


def test_terminal_escapes_in_documents_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    write_documents(
        tmp_path / "docs", {"evil.md": "---\ntitle: evil\nkeywords: [evilword]\n---\n\x1b]0;owned\x07text\n"}
    )
    output = run("lookup", "evilword").stdout
    assert "\x1b" not in output
    assert "\x07" not in output


def test_a_misspelt_environment_variable_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBAPP_RETRIEVAL__L1__TOPK", "3")
    result = run("index")
    assert result.exit_code == 1
    assert "KBAPP_RETRIEVAL__L1__TOP_K" in result.stderr


def test_k8_the_app_creates_nothing_where_a_named_root_does_not_exist(run: Run, tmp_path: Path) -> None:
    result = run("app", root="typo")
    assert result.exit_code == 1
    assert "--root typo is not a folder" in result.stderr
    assert not (tmp_path / "typo").exists()


def test_a_server_address_without_scheme_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBAPP_MILVUS__URI", "localhost:19530")
    result = run("index")
    assert result.exit_code == 1
    assert "http://localhost:19530" in result.stderr
    assert not (tmp_path / "localhost:19530").exists()


def test_a_changed_model_is_said_on_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("index")
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:other")
    assert "the embedding model changed: openai:tiny" in run("lookup", "ERR_TIMEOUT").stderr


@pytest.mark.parametrize(
    "text", ["state-dir: 2024-13-45", "a: &a {x: *a}", "[" * 5000, 'state-dir: "a\\0b"', "retreival: {}"]
)
def test_a_settings_file_of_any_kind_is_refused_with_a_sentence(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
    result = run("--config", "odd.yaml", "documents")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")


def test_the_prompt_follows_the_files_between_two_questions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs/domain/cache.md").unlink()
    assert "NOT FOUND" in run("prompt", stdin="击穿\n").stdout


@pytest.mark.parametrize("query", ["(ERR_TIMEOUT)", "【ERR_TIMEOUT】", "ERR_TIMEOUT,", "“ERR_TIMEOUT”："])
def test_punctuation_around_a_keyword_changes_nothing(run: Run, tmp_path: Path, query: str) -> None:
    write_documents(tmp_path / "docs", {"api/other.md": document("别的", "timeout", "正文。")})
    assert values(run("lookup", query, "--json"))["relevanceLevel"] == "PRECISE"


def test_the_help_names_every_command_and_imports_none() -> None:
    script = (
        "import sys; from kbapp.surfaces.cli import COMMANDS, main; main(['--help'], standalone_mode=False);"
        "print(sorted(name for name in sys.modules if name.startswith('kbapp.surfaces.cli_')), 'numpy' in sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.endswith("[] False\n")
    for name, command in COMMANDS.items():
        assert f"  {name}" in output
        assert command.load().name == name
