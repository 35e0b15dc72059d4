"""What an import does to what is there already."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.backup_apply import Journal, commit, finish_import
from kbapp.adapters.backup_export import BackupExport
from kbapp.adapters.backup_import import BackupImport
from kbapp.adapters.backup_places import Places
from kbapp.adapters.backup_staging import Staging
from kbapp.adapters.database import Database
from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.document_records import DocumentRecords
from kbapp.adapters.index_lock import hold_index_lock
from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.errors import IndexBusy, IndexUnavailable, UserError
from kbapp.domain.index_state import CONSISTENT_STATE, MODEL_STATE
from kbapp.settings import Settings
from tests.knowledge import tree, write_documents


def places_in(folder: Path) -> Places:
    state = folder / "state"
    return Places(folder / "docs", state, state / "kbapp.sqlite3", folder / "kbapp.yaml")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    places = places_in(tmp_path / "source")
    write_documents(places.base_folder, {"api/a.md": "# a", "b.md": "# b"})
    database = Database(places.database)
    records = DocumentRecords(database, "docs")
    records.set_state(CONSISTENT_STATE, "tiny http://server:19530")
    records.set_state(MODEL_STATE, "tiny")
    database.close()
    BackupExport(places, DocumentFiles(places.base_folder)).run(tmp_path / "b.tar.gz")
    return tmp_path / "b.tar.gz"


@pytest.fixture
def target(tmp_path: Path) -> Places:
    places = places_in(tmp_path / "target")
    places.state_folder.mkdir(parents=True)
    places.base_folder.mkdir()
    return places


def restore(archive: Path, places: Places, *, replacing: bool = True) -> None:
    BackupImport(places, DocumentFiles(places.base_folder), Path.exists).run(archive, replacing=replacing)


def test_vectors_are_compared_anew_after_an_import_also_where_a_server_holds_them(
    archive: Path, target: Places
) -> None:
    restore(archive, target)
    with closing(sqlite3.connect(target.database)) as connection:
        states = dict(connection.execute("SELECT name, value FROM index_state").fetchall())
    assert (states[CONSISTENT_STATE], states[MODEL_STATE]) == ("", "tiny")


@pytest.mark.parametrize("replacing", [True, False])
@pytest.mark.parametrize(
    ("there", "words"),
    [
        ("folder", "b.md is in the way and is no document"),
        ("file", "api is in the way: it is no folder"),
        ("link", "leads outside docs/ by a link"),
    ],
)
def test_what_is_in_the_way_is_named_before_anything_changes(
    archive: Path, target: Places, tmp_path: Path, there: str, words: str, replacing: bool
) -> None:
    (tmp_path / "outside").mkdir()
    if there == "folder":
        (target.base_folder / "b.md").mkdir()
    elif there == "file":
        (target.base_folder / "api").write_text("a file")
    else:
        (target.base_folder / "api").symlink_to(tmp_path / "outside")
    before = tree(target.base_folder)
    with pytest.raises(UserError, match=words):
        restore(archive, target, replacing=replacing)
    assert tree(target.base_folder) == before
    assert not target.database.exists()
    assert {file.name for file in target.state_folder.iterdir()} <= {"index.lock", "index.pid", "kbapp.lock"}
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_file_that_could_not_be_kept_is_never_overwritten(archive: Path, target: Places) -> None:
    (target.base_folder / "b.md").write_bytes(b"x" * (5 * 1024 * 1024 + 1))
    with pytest.raises(UserError, match=r"b\.md is in the way and is no document that could be kept"):
        restore(archive, target)
    assert (target.base_folder / "b.md").stat().st_size == 5 * 1024 * 1024 + 1


def test_a_linked_base_folder_stays_a_link_and_its_folder_keeps_what_is_no_document(
    archive: Path, target: Places, tmp_path: Path
) -> None:
    target.base_folder.rename(tmp_path / "elsewhere")
    target.base_folder.symlink_to(tmp_path / "elsewhere")
    write_documents(tmp_path / "elsewhere", {".git/config": "git", "old/x.md": "# x", "pic.png": b"png"})
    restore(archive, target)
    assert target.base_folder.is_symlink()
    assert tree(tmp_path / "elsewhere") == {
        ".git": None,
        ".git/config": b"git",
        "pic.png": b"png",
        "api": None,
        "api/a.md": b"# a",
        "b.md": b"# b",
    }


def test_nothing_is_imported_while_another_process_indexes(archive: Path, target: Places) -> None:
    with hold_index_lock(target.state_folder, 0), pytest.raises(IndexBusy, match="is indexing"):
        restore(archive, target)
    assert not target.database.exists()


def test_a_disk_that_is_too_small_is_told_before_anything_is_unpacked(
    archive: Path, target: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(UserError, match="has 1,000 left: make space"):
        restore(archive, target)
    assert tree(target.base_folder) == {}


@pytest.fixture
def stuck(archive: Path, target: Places) -> Path:
    """An import that is committed and could not be finished; what is in the way."""
    staging = Staging(target.state_folder)
    staging.folder.mkdir()
    write_documents(target.base_folder, {".kbapp-import/b.md": "# b", "b.md/note.txt": "in the way"})
    staging.base.write_text(str(target.base_folder))
    journal = Journal(
        base_folder=str(target.base_folder),
        database=str(target.database),
        settings_file=str(target.settings_file),
        arriving=("b.md",),
        going=(),
        kept=None,
        damaged=None,
    )
    with pytest.raises(IndexUnavailable, match=r"the import is not finished .* the next kbapp command goes on with it"):
        commit(staging, journal)
    return target.base_folder / "b.md"


def test_an_import_that_cannot_be_finished_is_gone_on_with_once_the_cause_is_gone(stuck: Path, target: Places) -> None:
    with pytest.raises(IndexUnavailable, match="the import is not finished"):
        finish_import(target.state_folder)
    (stuck / "note.txt").unlink()
    stuck.rmdir()
    finish_import(target.state_folder)
    assert tree(target.base_folder) == {"b.md": b"# b"}
    assert not (target.state_folder / "import").exists()


def test_nobody_starts_while_an_import_is_being_finished(stuck: Path, target: Places) -> None:
    with (
        hold_index_lock(target.state_folder, 0),
        pytest.raises(IndexUnavailable, match="an import is under way: try again"),
    ):
        finish_import(target.state_folder, wait_seconds=0)
    with pytest.raises(IndexUnavailable, match="the import is not finished"):
        open_knowledge_base(Settings(state_dir=target.state_folder, project_root=target.base_folder.parent))


def test_what_an_import_staged_that_was_killed_goes_at_the_next_start_unless_it_goes_on(target: Places) -> None:
    staging = Staging(target.state_folder)
    staging.folder.mkdir()
    write_documents(target.base_folder, {".kbapp-import/b.md": "# b"})
    staging.base.write_text(str(target.base_folder))
    with hold_index_lock(target.state_folder, 0):
        finish_import(target.state_folder)
    assert staging.folder.exists()
    finish_import(target.state_folder)
    assert not staging.folder.exists()
    assert tree(target.base_folder) == {}
