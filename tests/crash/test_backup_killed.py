"""kill -9 right before each change that an export or an import makes to the disk: nothing is lost, nothing is left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEP = "2"  # each change takes twice as long


def reports(kind: str, folder: Path) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "tests.processes.backup_killed", kind, str(folder), STEP]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr
    return [json.loads(line) for line in process.stdout.splitlines()]


def test_an_import_killed_anywhere_is_undone_or_finished_at_the_next_start_and_the_next_import(tmp_path: Path) -> None:
    found = reports("import", tmp_path)
    states = [report["start"] for report in found]
    first_new = states.index("new")
    assert states == ["old"] * first_new + ["new"] * (len(states) - first_new)
    assert first_new > 15
    assert len(states) - first_new > 10
    for report in found:
        assert report["kept"] == ([True] if report["start"] == "new" else [])
        assert report["staged"] == []
    for report in found[:-1]:
        assert "--replace" in str(report["again"])
        assert (report["in the end"], report["left"]) == ("new", [])
    finished = [report for report in found[:-1] if "was interrupted has been finished now" in str(report["again"])]
    assert len(finished) > 5
    assert all(report["start"] == "new" for report in finished)


def test_an_export_killed_anywhere_leaves_a_whole_archive_or_none_and_the_next_one_tidies_up(tmp_path: Path) -> None:
    found = reports("export", tmp_path)
    assert len(found) > 5
    for report in found:
        assert report["left"] == ["export.lock"]
