from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbapp.surfaces.cli import main
from tests.adapters.test_read_only_sql import LEVELS, REASONS, SIMILARITIES
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve_embedder(TinyEmbedder()) as url:
        yield url


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Run:
    """The command line, after two lookups and a refused one."""
    write_documents(tmp_path / "docs", {"api/payment.md": document("支付网关", "ERR_TIMEOUT, 超时", "请求超时。")})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
    monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["--root", "docs", *arguments])

    for arguments in (("ERR_TIMEOUT", "--session", "s1"), ("完全 zqxv", "--session", "会话二"), ("",)):
        invoke("lookup", *arguments)
    return invoke


def values(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_t1_telemetry_lists_the_rows_newest_first_under_the_names_of_the_columns(run: Run) -> None:
    rows = values(run("telemetry", "--json"))
    assert [(row["query"], row["outcome"], row["relevance_level"]) for row in rows] == [
        ("", "error", None),
        ("完全 zqxv", "not_found", None),
        ("ERR_TIMEOUT", "ok", "PRECISE"),
    ]
    assert list(rows[0]) == (
        "id session_id tool_name query section_title missing_dimension created_at duration_ms l0_ms embed_ms l1_ms"
        " l0_match_count l1_called found outcome relevance_level dedup_reason retrieval_details error"
    ).split(" ")
    assert rows[2]["retrieval_details"]["l0_titles"] == ["支付网关"]
    assert [row["query"] for row in values(run("telemetry", "--session", "s1", "--json"))] == ["ERR_TIMEOUT"]
    assert len(values(run("telemetry", "--limit", "2", "--json"))) == 2


def test_telemetry_for_people_is_a_table(run: Run) -> None:
    lines = run("telemetry").stdout.split("\n")
    assert lines[0].split() == ["id", "time", "(UTC)", "result", "L0", "L1", "ms", "session", "query"]
    assert [line.split("  ")[-1].strip() for line in lines[1:4]] == ["lookup_knowledge", "完全 zqxv", "ERR_TIMEOUT"]
    assert "PRECISE" in lines[3]
    assert run("telemetry", "--session", "none").stdout == "no rows\n"


def test_terminal_escapes_in_a_result_do_not_reach_the_terminal(run: Run) -> None:
    output = run("telemetry", "--sql", "SELECT char(27) || '[31m' AS 'a\x1bb', 'x' || char(10) || 'y' AS c").stdout
    assert "\x1b" not in output
    assert output.split("\n")[1].endswith("x y")


@pytest.mark.parametrize("sql", [LEVELS, REASONS, SIMILARITIES])
def test_t4_the_statements_of_000_run_on_the_command_line(run: Run, sql: str) -> None:
    rows = values(run("telemetry", "--sql", sql, "--json"))
    assert sum(row["cnt"] for row in rows) == (2 if "IS NOT NULL" in sql else 3)
    assert "cnt" in run("telemetry", "--sql", sql).stdout.split("\n")[0]


@pytest.mark.parametrize(
    "sql", ["PRAGMA user_version", "SELECT 1; SELECT 2", "ATTACH 'x' AS y", "DELETE FROM feedback", ""]
)
def test_t4_anything_but_one_select_is_an_error_of_the_user(run: Run, sql: str, tmp_path: Path) -> None:
    result = run("telemetry", "--sql", sql, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "only one SELECT" in result.stderr
    assert not (tmp_path / "x").exists()


def test_a_cut_result_is_said_to_be_cut_on_stderr(run: Run) -> None:
    result = run(
        "telemetry",
        "--sql",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t",
        "--json",
    )
    assert len(values(result)) == 10_000
    assert "only the first 10000 rows" in result.stderr


def test_wrong_usage_of_telemetry_is_status_2(run: Run) -> None:
    assert run("telemetry", "--sql", "SELECT 1", "--session", "s1").exit_code == 2
    assert run("telemetry", "--sql", "SELECT 1", "--limit", "50").exit_code == 2
    assert run("telemetry", "--limit", "0").exit_code == 2


def test_t6_feedback_marks_a_row(run: Run) -> None:
    invocation_id = values(run("telemetry", "--limit", "1", "--json"))[0]["id"]
    mark = values(run("feedback", invocation_id, "wrong-level", "--note", "应为参考", "--json"))
    assert list(mark) == ["id", "invocation_id", "verdict", "note", "created_at"]
    assert (mark["invocation_id"], mark["verdict"], mark["note"]) == (invocation_id, "wrong-level", "应为参考")
    assert run("feedback", invocation_id, "helpful").stdout == f"noted: {invocation_id} is helpful\n"
    stored = values(run("telemetry", "--sql", "SELECT verdict FROM feedback ORDER BY created_at", "--json"))
    assert stored == [{"verdict": "wrong-level"}, {"verdict": "helpful"}]


def test_t6_feedback_on_nothing_or_of_no_known_kind(run: Run) -> None:
    unknown = run("feedback", "none", "helpful")
    assert unknown.exit_code == 1
    assert "there is no invocation 'none'" in unknown.stderr
    assert run("feedback", "none", "great").exit_code == 2
