from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbapp.surfaces.cli import main
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents

DOCUMENTS = {
    "api/payment.md": document("支付网关", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n支付网关请求超时，重试三次。"),
    "infrastructure/pool.md": document("连接池", "HikariCP", "## 参数\n\nmaximumPoolSize 取核数的两倍。"),
}
LABELS: list[dict[str, object]] = [
    {"id": "q1", "query": "ERR_TIMEOUT", "kind": "keyword", "lang": "en", "relevant": ["api/payment.md"]},
    {
        "id": "q2",
        "query": "参数 maximumPoolSize 取核数的两倍",
        "kind": "section",
        "lang": "zh",
        "relevant": ["infrastructure/pool.md"],
        "heading": "参数",
        "evidence": "核数的两倍",
    },
    {"id": "q3", "query": "zqxv blorp", "kind": "offtopic", "lang": "en", "relevant": []},
    {"id": "q4", "query": "blorp zqxv", "kind": "question", "lang": "zh", "relevant": ["api/payment.md"]},
]
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve_embedder(TinyEmbedder()) as url:
        yield url


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Run:
    """``kbapp eval`` in a folder with documents and labelled queries."""
    write_documents(tmp_path / "docs", DOCUMENTS)
    write(tmp_path / "labels.jsonl", *LABELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
    monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)

    def invoke(*arguments: str, root: str = "docs") -> Result:
        return CliRunner().invoke(main, ["--root", root, "eval", *arguments])

    return invoke


def write(file: Path, *labels: object) -> None:
    file.write_text("\n".join(json.dumps(label, ensure_ascii=False) for label in labels), encoding="utf-8")


def values(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.strip().split("\n") if not line.startswith("indexing ")]
    assert len(lines) == 1, lines
    return lines[0]


def test_eval_gives_one_json_value_with_these_keys(run: Run) -> None:
    report = values(run("labels.jsonl", "--json"))
    assert list(report) == [
        "overall", "ranking", "kinds", "languages", "legs", "baselines",
        "levels", "offtopic", "in_topic_highly_or_better", "latency_ms",
    ]  # fmt: skip
    assert report["overall"]["recall@1"] == {"count": 2, "of": 3, "rate": 0.6667, "interval": [0.2077, 0.9385]}
    assert report["kinds"]["section"]["heading"]["count"] == 1
    assert report["kinds"]["section"]["evidence"]["count"] == 1
    assert report["ranking"]["kinds"]["section"]["mrr@10"]["mean"] == 1
    assert set(report["legs"]) == {"l0", "vectors", "full_text"}
    assert set(report["levels"]) == {"PRECISE", "HIGHLY_RELEVANT", "REFERENCE", "nothing"}
    assert report["offtopic"]["nothing"]["of"] == 1


def test_eval_for_people_is_tables_with_counts_and_intervals_and_what_was_missed(run: Run) -> None:
    blocks = run("labels.jsonl").stdout.strip().split("\n\n")
    given = {line.split()[0]: line.split() for line in blocks[0].split("\n")[2:]}
    assert given["overall"][1:5] == ["3", "2/3", "0.67", "(0.21–0.94)"]
    assert given["cross_language"][1:3] == ["0", "–"]
    assert [line.split()[0] for line in blocks[2].split("\n")[2:]] == [
        "ranking", "L0", "vectors", "full", "substring", "BM25",
    ]  # fmt: skip
    assert blocks[-1] == "no right document first, question: q4"
    assert blocks[-2].startswith("a lookup: p50 ")
    widths = {len(line) for line in blocks[2].split("\n")[1:]}
    assert len(widths) == 1


def test_eval_leaves_no_telemetry(run: Run) -> None:
    values(run("labels.jsonl", "--json"))
    assert values(CliRunner().invoke(main, ["--root", "docs", "telemetry", "--json"])) == []


def test_another_corpus_is_measured_without_touching_the_indexes_of_the_first(run: Run, tmp_path: Path) -> None:
    write_documents(tmp_path / "other", {"api/payment.md": DOCUMENTS["api/payment.md"]})
    write(tmp_path / "other.jsonl", LABELS[0])
    before = values(CliRunner().invoke(main, ["--root", "docs", "index", "--json"]))
    report = values(run("other.jsonl", "--corpus", "other", "--json"))
    assert report["overall"]["recall@1"]["count"] == 1
    assert report["baselines"]["bm25"]["recall@1"]["of"] == 1
    after = values(CliRunner().invoke(main, ["--root", "docs", "index", "--json"]))
    assert (before["documents"], after["documents"], after["unchanged"]) == (2, 2, 2)
    assert (after["removed"], after["embedded"]) == (0, 0)
    assert len(list((tmp_path / ".kbapp/eval").iterdir())) == 1


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (None, "labels.jsonl cannot be read (No such file or directory): name a file with one query per line"),
        (b"\x89PNG\r\n\x1a\n" + bytes(64), "labels.jsonl: it is not text"),
        (b"", "labels.jsonl: the file holds no query"),
        (b'{"id": 1}\nx\n', "line 1: query and kind and relevant are missing; line 2: not JSON"),
        (
            json.dumps(LABELS[0]).encode() + b"\n" + json.dumps(LABELS[0] | {"relevant": ["no.md"]}).encode(),
            "labels.jsonl: nothing is computed: line 2: the knowledge base does not hold 'no.md'",
        ),
        (
            json.dumps(LABELS[0] | {"evidence": "核数的两倍"}).encode(),
            "nothing is computed, evidence is wrong: line 1: '核数的两倍' stands in no relevant document",
        ),
        (json.dumps(LABELS[0] | {"query": "x" * 2001}).encode(), "line 1: the query has 2001 characters"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_of_the_user(run: Run, data: bytes | None, sentence: str) -> None:
    Path("labels.jsonl").unlink()
    if data is not None:
        Path("labels.jsonl").write_bytes(data)
    assert sentence in refusal(run("labels.jsonl", "--json"))


def test_folders_that_are_not_there_or_hold_nothing_are_errors_of_the_user(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "--corpus none is not a folder" in refusal(run("labels.jsonl", "--corpus", "none"))
    assert "empty holds no document" in refusal(run("labels.jsonl", "--corpus", "empty"))
    assert "docs cannot be read" in refusal(run("docs"))


def test_an_id_or_language_with_terminal_escapes_does_not_reach_the_terminal(run: Run) -> None:
    write(Path("labels.jsonl"), LABELS[3] | {"id": "a\x1b[31m\nb", "lang": "z\x1b\nh"})
    result = run("labels.jsonl")
    assert "\x1b" not in result.output
    assert result.stdout.strip().endswith("question: a\\x1b[31m b")


def test_a_file_of_off_topic_queries_alone_has_levels_and_no_recall(run: Run) -> None:
    write(Path("labels.jsonl"), LABELS[2])
    report = values(run("labels.jsonl", "--json"))
    assert report["overall"]["recall@1"] == {"count": 0, "of": 0, "rate": None, "interval": None}
    assert report["kinds"] == {}
    assert report["offtopic"]["queries"] == 1
    assert run("labels.jsonl").exit_code == 0
