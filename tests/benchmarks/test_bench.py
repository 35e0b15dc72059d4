"""The run of all groups: what it writes, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import GROUPS, HERE, README, Package, markdown, result_of
from measure import Target, row
from table import replaced_between

MACHINE = {"cpu": "Z80", "cores": 1, "memory_gb": 0.1}
CORPUS = {"corpus": "sample", "nearest_cosine_real": {"p10": 0.9, "p50": 0.95}}


def package(folder: Path) -> Package:
    figure = row("lookup", (10, "chunks"), "ms", [3.0], target=Target("p50", 2))
    return Package("abc1234", folder, folder, is_lenient=False, runs={"lookup": [[figure]]}, failed=["memory"])


def test_each_group_is_a_script():
    assert all((HERE / f"{script}.py").is_file() for script in GROUPS.values())


@pytest.mark.parametrize("mark", ["quick", "full", "against"])
def test_the_readme_has_a_place_for_each_table(mark):
    assert replaced_between(README.read_text(encoding="utf-8"), f"<!-- {mark} -->", f"<!-- /{mark} -->", "x")


def test_the_table_names_commit_machine_corpus_and_what_failed(tmp_path):
    own = package(tmp_path)
    result = {"modified": True, "measured": "2026-01-01T00:00+00:00", "machine": MACHINE, "corpus": CORPUS}
    text = markdown(result, own)
    assert text.startswith("Commit abc1234 with changes, 2026-01-01T00:00+00:00.\n\n**Failed: memory.**")
    assert "cpu Z80, cores 1, memory gb 0.1." in text
    assert "nearest cosine real 0.9 / 0.95." in text
    assert "| lookup | 10 chunks | 3 ms |  |  |  | p50 ≤ 2 | **missed** |" in text


def test_the_result_holds_rows_and_changes_of_both_commits(tmp_path):
    own, other = package(tmp_path), package(tmp_path)
    result = result_of(own, other, "quick", {"modified": False, "machine": MACHINE, "corpus": CORPUS})
    assert result["rows"]["lookup"][0]["p50"] == 3.0
    assert result["against"]["changes"] == [
        {"name": "lookup, 10 chunks", "unit": "ms", "old": 3.0, "new": 3.0, "noise": 0.05}
    ]


def test_a_package_is_measured_without_settings_of_the_caller(tmp_path, monkeypatch):
    monkeypatch.setenv("KBAPP_STATE_DIR", "elsewhere")
    environment = package(tmp_path).environment
    assert environment["PYTHONPATH"] == str(tmp_path)
    assert "KBAPP_STATE_DIR" not in environment
