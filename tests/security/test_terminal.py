"""What a document, a query or a session says is shown on a terminal and in a log, and never obeyed."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from kbapp.surfaces.cli import main
from kbapp.surfaces.plain_text import PlainFormatter, plain, plain_json
from tests.knowledge import document, open_for_test, write_documents

CLEAR, TITLE, C1, BIDI, TAG = "\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\u202etxt.exe\u2066", "\U000e0041"
HOSTILE = f"{CLEAR}{TITLE}{C1}{BIDI}{TAG}\r\u2028\x7f"
OBEYED = "\x1b\x07\x9b\u202e\u2066\U000e0041\r\u2028\x7f"
PLAIN = "Plain words make the file a text and no binary.\n" * 100
TEXT = document(
    "Title", "alpha", f"## Part {HOSTILE}\n\nalpha body {HOSTILE}\n\n{PLAIN}\n\n# {HOSTILE} end", summary="s"
)

COMMANDS = {
    "documents": ["documents"],
    "chunks": ["chunks", "api/a.md"],
    "lookup": ["lookup", f"alpha {HOSTILE}", "--session", f"s{HOSTILE}", "--explain"],
    "refused lookup": ["lookup", f"{HOSTILE}\x00"],
    "chunks of nothing": ["chunks", f"api/{HOSTILE}.md"],
    "telemetry": ["telemetry"],
    "sql": ["telemetry", "--sql", f"SELECT content, '{CLEAR}{C1}{BIDI}' AS \"{CLEAR}\" FROM chunk"],
    "broken sql": ["telemetry", "--sql", f"SELECT {CLEAR}{C1}"],
    "session": ["session", "show", f"s{HOSTILE}"],
    "doctor": ["doctor"],
    "eval": ["eval", "labels.jsonl"],
    "simulate": ["simulate", "tasks.jsonl"],
    "verbose": ["-v", "lookup", f"alpha {HOSTILE}"],
    "delete": ["delete", "api/a.md"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_documents(
        tmp_path / "knowledge_base", {"api/a.md": TEXT, "ops/broken.md": f"---\ntitle: {HOSTILE}: x\n---\n"}
    )
    label = {"query": f"alpha {HOSTILE}", "relevant": ["api/a.md"], "kind": "keyword"}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label) + "\n" + json.dumps({HOSTILE: 1}), encoding="utf-8")
    task = {"id": HOSTILE, "goal": HOSTILE, "needed": ["api/a.md"], "steps": [{"query": f"alpha {HOSTILE}"}]}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task), encoding="utf-8")
    with open_for_test(tmp_path) as kb:
        kb.reindex()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, words: list[str]) -> Result:
    places = ["--root", str(folder / "knowledge_base"), "--state-dir", str(folder / "state")]
    return CliRunner().invoke(main, [*places, *words])


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_prints_what_a_terminal_obeys(folder: Path, name: str) -> None:
    result = run(folder, COMMANDS[name])
    assert result.output
    assert not set(OBEYED) & set(result.output), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("name", ["documents", "chunks", "lookup", "telemetry", "sql", "session"])
def test_json_has_the_same_values_and_prints_none_of_it_either(folder: Path, name: str) -> None:
    result = run(folder, [*COMMANDS[name], "--json"])
    assert not set(OBEYED) & set(result.stdout)
    values = json.loads(result.stdout)
    if name == "chunks":
        assert any(f"alpha body {CLEAR}{TITLE}{C1}{BIDI}{TAG}" in chunk["content"] for chunk in values)


@given(st.text(alphabet=st.one_of(st.sampled_from(list(OBEYED)), st.characters())))
def test_what_is_written_out_is_printable_and_json_keeps_its_values(text: str) -> None:
    assert not set(OBEYED) & set(plain(text))
    assert plain(plain(text)) == plain(text)
    assert json.loads(plain_json(json.dumps(text, ensure_ascii=False))) == text


def test_a_log_line_stays_one_line() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PlainFormatter())
    try:
        raise ValueError(f"{CLEAR}forged")
    except ValueError as error:
        stack = (type(error), error, None)
    handler.emit(logging.LogRecord("kbapp", logging.ERROR, "x.py", 1, "asked %s", (f"a\nERROR forged{CLEAR}",), stack))
    first, *rest = stream.getvalue().splitlines()
    assert first == "asked a\\nERROR forged\\x1b[2J"
    assert not set(OBEYED) & set("".join(rest))


def test_the_program_logs_by_that_formatter(folder: Path) -> None:
    run(folder, ["documents"])
    (handler,) = logging.getLogger().handlers[:1]
    assert isinstance(handler.formatter, PlainFormatter)
