"""The tasks that come with kbapp: where they are, and which of them a knowledge base can use."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kbapp.domain.tasks import parse_tasks
from kbapp.service.simulation import Shelf
from kbapp.surfaces import app_launcher
from kbapp.surfaces.ui import scripted_tasks
from kbapp.surfaces.ui.scripted_tasks import shipped_file, shipped_tasks
from tests.surfaces.ui.conftest import ROOT

SAMPLE = ROOT / "knowledge_base"


def shelf(*documents: str) -> Shelf:
    return Shelf("knowledge_base", set(documents))


def test_all_shipped_tasks_fit_the_sample_and_none_an_empty_knowledge_base() -> None:
    documents = [file.relative_to(SAMPLE).as_posix() for file in SAMPLE.rglob("*.md")]
    file = shipped_file()
    assert file
    assert len(shipped_tasks(shelf(*documents))) == len(parse_tasks(file.read_text(encoding="utf-8"))) >= 15
    assert shipped_tasks(shelf()) == []


def test_only_the_tasks_whose_documents_are_there_are_offered() -> None:
    offered = shipped_tasks(shelf("api/payment-errors.md"))
    assert "scenario-3" in [task.id for task in offered]
    assert {path for task in offered for path in task.needed} == {"api/payment-errors.md"}


def test_the_wheel_and_the_source_carry_the_tasks_to_where_they_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert "benchmarks/tasks.jsonl" in hatch["sdist"]["include"]
    carried = Path(hatch["wheel"]["force-include"]["benchmarks/tasks.jsonl"])
    installed = tmp_path / carried
    installed.parent.mkdir(parents=True)
    installed.write_bytes((ROOT / "benchmarks/tasks.jsonl").read_bytes())
    monkeypatch.setattr(app_launcher, "PACKAGE_FOLDER", tmp_path / "kbapp")
    assert shipped_file() == installed


def test_a_file_that_cannot_be_read_offers_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "tasks.jsonl"
    broken.write_text("{", encoding="utf-8")
    monkeypatch.setattr(scripted_tasks, "app_folder", lambda: tmp_path)
    assert shipped_tasks(shelf("api/payment-errors.md")) == []
    broken.unlink()
    assert shipped_tasks(shelf("api/payment-errors.md")) == []
