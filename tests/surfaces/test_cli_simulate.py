from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbapp.surfaces.cli import main
from tests.chat_server import asks, says, serve_chat
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents

KEY = "sk-secret-0123456789"
DOCUMENTS = {
    "api/payment.md": document("支付网关", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n支付网关请求超时。"),
    "infrastructure/pool.md": document("连接池", "HikariCP, 连接池", "## 参数\n\nmaximumPoolSize 取核数的两倍。"),
}
TASKS = [
    {"id": "支付", "goal": "ERR_TIMEOUT 是什么", "steps": ["ERR_TIMEOUT", "ERR_TIMEOUT"], "needed": ["api/payment.md"]},
    {
        "id": "池",
        "goal": "连接池",
        "steps": ["HikariCP", "zqxv"],
        "needed": ["infrastructure/pool.md", "api/payment.md"],
    },
]
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve_embedder(TinyEmbedder()) as url:
        yield url


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Run:
    """``kbapp simulate`` in a folder with documents and a file of tasks."""
    write_documents(tmp_path / "docs", DOCUMENTS)
    write(tmp_path / "tasks.jsonl", *TASKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
    monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)

    def invoke(*arguments: str, root: str = "docs") -> Result:
        return CliRunner().invoke(main, ["--root", root, "simulate", *arguments])

    return invoke


def write(file: Path, *tasks: object) -> None:
    file.write_text("\n".join(json.dumps(task, ensure_ascii=False) for task in tasks), encoding="utf-8")


def values(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def progress(result: Result) -> list[str]:
    """What stderr says, apart from indexing that takes a second on a busy machine."""
    return [line for line in result.stderr.strip().split("\n") if not line.startswith("indexing ")]


def test_simulate_gives_one_json_value_and_progress_on_stderr(run: Run) -> None:
    result = run("tasks.jsonl", "--executor", "unconstrained", "--json")
    report = values(result)
    assert [task["id"] for task in report["tasks"]] == ["支付", "池"]
    assert [task["needed_covered"] for task in report["tasks"]] == [1, 1]
    assert report["tasks"][0]["repeats_blocked"] == {"doc_retrieved": 1, "domain_retrieved": 0}
    assert (report["total"]["calls"], report["total"]["calls_with_content"]) == (4, 2)
    assert report["total"]["characters_given_twice"] == 0
    assert [entry["kind"] for entry in report["tasks"][0]["transcript"]["entries"]] == ["call", "call"]
    assert progress(result) == ["task 1 of 2: 支付", "task 2 of 2: 池"]


def test_simulate_for_people_is_a_table_with_a_total_and_what_was_not_given(run: Run) -> None:
    lines = run("tasks.jsonl", "--executor", "unconstrained").stdout.strip().split("\n")
    assert lines[0].split() == [
        "calls",
        "with",
        "content",
        "blocked",
        "covered",
        "characters",
        "given",
        "twice",
        "task",
    ]
    assert lines[1].split()[:8] == ["2", "of", "2", "1", "1", "1", "of", "1"]
    assert lines[1].split()[9:] == ["0", "支付"]
    assert [line.split()[-1] for line in lines[1:4]] == ["支付", "池", "total"]
    assert lines[3].split()[:3] == ["4", "of", "4"]
    assert lines[4:] == ["池 was not given api/payment.md"]


def test_the_constrained_executor_is_the_default_and_tells_why_it_skips(run: Run) -> None:
    report = values(run("tasks.jsonl", "--json"))
    first = report["tasks"][0]["transcript"]
    assert first["executor"] == "constrained"
    assert [entry["kind"] for entry in first["entries"]] == ["call", "skip"]
    assert "PRECISE" in first["entries"][1]["reason"]


@pytest.mark.parametrize("policy", ["off", "warn", "block"])
def test_the_policy_of_a_run_is_that_of_the_option(run: Run, policy: str) -> None:
    values(run("tasks.jsonl", "--policy", policy, "--json"))
    rows = values(CliRunner().invoke(main, ["--root", "docs", "telemetry", "--json"]))
    assert {row["retrieval_details"]["domain_policy"] for row in rows} == {policy}


def test_without_the_option_the_policy_is_that_of_the_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBAPP_RETRIEVAL__DEDUP__DOMAIN_POLICY", "warn")
    values(run("tasks.jsonl", "--json"))
    rows = values(CliRunner().invoke(main, ["--root", "docs", "telemetry", "--json"]))
    assert {row["retrieval_details"]["domain_policy"] for row in rows} == {"warn"}


def test_the_llm_executor_runs_against_its_endpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_chat() as server:
        for name, value in (("BASE_URL", server.base_url), ("MODEL", "m"), ("API_KEY", KEY)):
            monkeypatch.setenv(f"KBAPP_LLM__{name}", value)
        server.script = [asks("ERR_TIMEOUT"), says("超时错误"), says("不知道")]
        result = run("tasks.jsonl", "--executor", "llm", "--json")
    report = values(result)
    assert [task["transcript"]["answer"] for task in report["tasks"]] == ["超时错误", "不知道"]
    assert report["total"]["calls"] == 1
    assert KEY not in result.output


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({}, "llm.base-url is not set"),
        ({"BASE_URL": "http://127.0.0.1:9/v1"}, "llm.model is not set"),
        ({"BASE_URL": "http://127.0.0.1:9/v1", "MODEL": "m", "API_KEY": KEY}, "m at http://127.0.0.1:9/v1 cannot be"),
    ],
)
def test_an_llm_that_is_not_there_is_an_error_of_the_user(
    run: Run, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], sentence: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"KBAPP_LLM__{name}", value)
    assert sentence in refusal(run("tasks.jsonl", "--executor", "llm", "--json"))


def refusal(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert "Traceback" not in result.stderr
    assert KEY not in result.stderr
    (sentence,) = progress(result)
    assert sentence.startswith("Error: ")
    return sentence


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "tasks.jsonl cannot be read (No such file or directory): name a file with one task per line"),
        (b"\x89PNG\r\n\x1a\n" + bytes(64), "tasks.jsonl: it is not text"),
        (b"", "tasks.jsonl: the file holds no task"),
        (b'{"id": 1}\nx\n', "line 1: goal and steps and needed are missing; line 2: not JSON"),
        (
            b'{"id": "t1", "goal": "g", "steps": ["q"], "needed": ["api/none.md", "api/payment.md"]}',
            "does not hold: 'api/none.md' (task 't1');",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_of_the_user(run: Run, data: bytes | None, sentence: str) -> None:
    Path("tasks.jsonl").unlink()
    if data is not None:
        Path("tasks.jsonl").write_bytes(data)
    assert sentence in refusal(run("tasks.jsonl", "--json"))


def test_a_folder_is_no_file_of_tasks(run: Run) -> None:
    assert "docs cannot be read" in refusal(run("docs"))


def test_an_empty_knowledge_base_is_an_error_of_the_user(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "empty holds no document" in refusal(run("tasks.jsonl", root="empty"))


def test_wrong_usage_of_simulate_is_status_2(run: Run) -> None:
    assert run().exit_code == 2
    assert run("tasks.jsonl", "--executor", "human").exit_code == 2
    assert run("tasks.jsonl", "--policy", "never").exit_code == 2


def test_an_id_with_terminal_escapes_does_not_reach_the_terminal(run: Run) -> None:
    write(Path("tasks.jsonl"), TASKS[0] | {"id": "a\x1b[31m\nb"})
    result = run("tasks.jsonl")
    assert "\x1b" not in result.output
    assert progress(result) == ["task 1 of 1: a\\x1b[31m b"]
