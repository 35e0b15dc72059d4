from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kbapp.settings import Settings
from kbapp.surfaces.cli import main
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents

COUNT = 32
Label = dict[str, object]
Run = Callable[..., Result]


def labels(in_topic: int = COUNT, off_topic: int = COUNT) -> list[Label]:
    """Every second query in topic has few words in common with its document."""
    asked = [
        {
            "id": f"in{n}",
            "query": f"how does ledger{n} settle batch{n}" if n % 2 else f"why are ledger{n} transfers late today",
            "kind": "question",
            "relevant": [f"ops/{n}.md"],
        }
        for n in range(in_topic)
    ]
    return asked + [
        {"id": f"off{n}", "query": f"how does planet{n} settle comet{n}", "kind": "offtopic", "relevant": []}
        for n in range(off_topic)
    ]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve_embedder(TinyEmbedder(512)) as url:
        yield url


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, labelled queries, and an index that the first test makes."""
    folder = tmp_path_factory.mktemp("calibrate")
    texts = {
        f"ops/{n}.md": document(f"manual {n}", f"kw{n}", f"ledger{n} how does it settle batch{n} at night")
        for n in range(COUNT)
    }
    write_documents(folder / "docs", texts)
    return folder


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> Iterator[Run]:
    """``kbapp calibrate`` in that folder, without settings of its own."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
    monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", endpoint)
    write(labels())
    yield lambda *arguments: call("calibrate", *arguments)
    Path("kbapp.yaml").unlink(missing_ok=True)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["--root", "docs", *arguments])


def write(rows: Sequence[Mapping[str, object]]) -> None:
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def values(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.strip().split("\n") if not line.startswith("indexing ")]
    assert len(lines) == 1, lines
    return lines[0]


def errors(figures: Mapping[str, Any]) -> int:
    """Off-topic queries called highly relevant, and in-topic ones not called so although they are right."""
    highly = figures["levels"]["HIGHLY_RELEVANT"]["recall"]
    return int(figures["errors"]["off_topic_passing"]["HIGHLY_RELEVANT"]["count"] + highly["of"] - highly["count"])


def test_g5_calibrate_gives_one_json_value_with_these_keys(run: Run) -> None:
    report = values(run("labels.jsonl", "--json"))
    assert list(report) == [
        "model", "cases", "profile", "thresholds", "levels", "errors", "now", "left_out", "applied",
    ]  # fmt: skip
    assert (report["model"], report["applied"], report["left_out"]) == ("openai:tiny", None, {})
    assert (report["cases"]["in_topic"], report["cases"]["off_topic"]) == (COUNT, COUNT)
    assert report["profile"]["name"] == "openai:tiny"
    assert report["thresholds"]["reference"] == report["profile"]["reference_logit"]
    assert report["thresholds"]["highly_relevant"] == report["profile"]["highly_relevant_logit"]
    assert list(report["now"]) == ["levels", "errors"]
    assert list(report["levels"]) == ["HIGHLY_RELEVANT", "REFERENCE"]
    assert report["levels"]["REFERENCE"]["recall"]["of"] == COUNT
    assert report["errors"]["off_topic_passing"]["REFERENCE"]["of"] == COUNT
    assert report["errors"]["in_topic_lost"]["of"] == report["cases"]["right"]


def test_g5_on_unseen_queries_the_profile_separates_better_than_the_distance(run: Run) -> None:
    report = values(run("labels.jsonl", "--json"))
    assert errors(report) < errors(report["now"]) / 2
    assert report["levels"]["HIGHLY_RELEVANT"]["precision"]["rate"] > 0.9


def test_g5_for_people_the_profiles_stand_side_by_side_and_the_last_line_says_what_to_do(run: Run) -> None:
    output = run("labels.jsonl").stdout
    head, table, cuts, last = output.strip().split("\n\n")
    assert head.split("\n")[0] == "model openai:tiny, labelled queries"
    rows = table.split("\n")
    assert rows[0].split("  ")[-1].strip() == "calibrated, 5-fold"
    assert len(rows) == 8
    assert len({len(row) for row in rows}) == 1
    assert cuts.startswith("log-odds at which levels begin: REFERENCE ")
    assert (
        last
        == f"nothing is written: the same command with --apply writes this profile to {Path('kbapp.yaml').absolute()}"
    )
    assert not Path("kbapp.yaml").exists()


def test_g5_an_applied_profile_grades_the_next_start_and_is_shown(run: Run) -> None:
    Path("kbapp.yaml").write_text("# ours\nretrieval:\n  l1: {top-k: 4}\n", encoding="utf-8")
    assert (
        values(call("lookup", "ledger1 batch1 transfers", "--explain", "--json"))["explain"]["retrieval_details"][
            "profile"
        ]["kind"]
        == "DistanceProfile"
    )
    report = values(run("labels.jsonl", "--apply", "--json"))
    assert report["applied"] == str(Path("kbapp.yaml").absolute())
    written = Path("kbapp.yaml").read_text(encoding="utf-8")
    assert written.startswith("# ours\n")
    assert Settings.load(environ={}).retrieval.profile.model == "openai:tiny"
    details = values(call("lookup", "ledger1 batch1 transfers", "--explain", "--json"))["explain"]["retrieval_details"]
    assert details["profile"] == {"kind": "EvidenceProfile", **report["profile"]}
    again = values(run("labels.jsonl", "--json"))
    assert again["profile"] == report["profile"]
    assert errors(again["now"]) <= errors(report)


def test_g5_applying_tells_people_the_file_and_that_what_runs_is_to_be_started_again(run: Run) -> None:
    last = run("labels.jsonl", "--apply").stdout.strip().split("\n")[-1]
    assert last.startswith(f"written to {Path('kbapp.yaml').absolute()}: the next start judges by it")


def test_g5_the_profile_of_another_model_is_left_out_and_said_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("labels.jsonl", "--apply")
    monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:other")
    result = CliRunner().invoke(main, ["--root", "docs", "--state-dir", "other", "--verbose", "lookup", "x"])
    assert result.exit_code == 0
    said = [line for line in result.stderr.split("\n") if "retrieval.profile" in line]
    assert len(said) == 1
    assert "of the model openai:tiny and left out" in said[0]
    assert "`kbapp calibrate FILE --apply`" in said[0]


def test_g5_another_corpus_is_measured_but_its_profile_is_not_applied(run: Run) -> None:
    report = values(run("labels.jsonl", "--corpus", "docs", "--json"))
    assert report["cases"]["in_topic"] == COUNT
    assert "name its folder with --root" in run("labels.jsonl", "--corpus", "docs").stdout
    assert "levels do not carry over" in refusal(run("labels.jsonl", "--corpus", "docs", "--apply"))
    assert "--corpus needs a FILE" in refusal(run("--corpus", "docs"))
    assert not Path("kbapp.yaml").exists()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (labels(29, 30), "needs 30 in-topic and 30 off-topic queries, and there are 29 and 30: label more"),
        (labels(30, 29), "there are 30 and 29"),
        ([*labels(), labels()[0]], "labels.jsonl: nothing is computed: line 65: the id 'in0' is also in line 1"),
        ([*labels(), {"id": 1, "query": "x"}], "line 65: kind and relevant are missing"),
        ([*labels(), labels()[0] | {"id": 1, "query": "x" * 2001}], "labels.jsonl: line 65: the query has 2001"),
        ([each | {"relevant": ["ops/31.md"]} if each["relevant"] else each for each in labels()], "only 1 of 32 in-"),
        ([], "the file holds no query"),
    ],
)
def test_g5_labels_that_cannot_be_used_are_an_error_of_the_user(run: Run, rows: list[Label], sentence: str) -> None:
    write(rows)
    assert sentence in refusal(run("labels.jsonl", "--apply", "--json"))
    assert not Path("kbapp.yaml").exists()


def test_g5_a_file_that_is_not_there_or_no_text_is_an_error_of_the_user(run: Run) -> None:
    Path("image.jsonl").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    assert "none.jsonl cannot be read" in refusal(run("none.jsonl"))
    assert "image.jsonl: it is not text" in refusal(run("image.jsonl"))


def test_t6_without_marks_feedback_says_what_is_missing(run: Run) -> None:
    assert refusal(run()).endswith(
        "calibrating needs 30 graded answers marked helpful and 30 marked otherwise, and there are 0 and 0: mark more"
        " with `kbapp feedback`, or name a file of labelled queries"
    )
