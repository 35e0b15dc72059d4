"""What we are made of, and that ``docs/security.md`` promises nothing without a test or a stated limit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
ROWS = [row.strip("| ").split(" | ") for row in PAGE.split("\n") if row.startswith("| ")]
THREATS = [row for row in ROWS[1:] if not row[0].startswith("**")]
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_every_dependency_is_pinned_by_its_hash_and_no_index_is_named(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").split("\n")
    pins = [number for number, line in enumerate(lines) if line and not line.startswith((" ", "#"))]
    assert pins
    for number in pins:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==[\w.!+-]+( ;.*)? \\$", lines[number]), lines[number]
        assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", lines[number + 1]), lines[number]
    assert not [line for line in lines if "://" in line or "index-url" in line or "find-links" in line]


def test_every_exception_for_the_scanner_gives_its_rule_and_reason() -> None:
    marks = [
        line
        for file in (ROOT / "kbapp").rglob("*.py")
        for line in file.read_text(encoding="utf-8").split("\n")
        if re.search(r"#\s*nosec\b", line)
    ]
    assert marks
    assert not [line for line in marks if not re.search(r"# nosec B\d{3}(, B\d{3})* # \w.{8,}", line)]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["tool"]["bandit"] == {"skips": ["B608"]}
    assert "bandit -q -r kbapp -c pyproject.toml" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("row", THREATS, ids=lambda row: row[0][:60])
def test_every_threat_has_a_test_that_exists_or_is_a_stated_limit(row: list[str]) -> None:
    _, what_happens, proof = row
    assert what_happens.strip()
    named = TEST.findall(proof)
    assert bool(named) != (proof.strip() == "limit"), proof
    assert TEST.sub("", proof).strip(", ") in {"", "limit"}
    for file, name in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(" if name else r"^def test_", text, re.MULTILINE), (file, name)


def test_every_file_of_security_tests_is_named() -> None:
    named = {file for file, _ in TEST.findall(PAGE)}
    assert {f"tests/security/{file.name}" for file in Path(__file__).parent.glob("test_*.py")} <= named
