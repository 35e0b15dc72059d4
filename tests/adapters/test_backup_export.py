"""What an export writes, what it leaves out, and what is left of one that cannot be."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from kbapp.adapters.backup_archive import ArchiveWriter, read_archive
from kbapp.adapters.backup_export import BackupExport
from kbapp.adapters.backup_import import BackupImport
from kbapp.adapters.backup_places import Places
from kbapp.adapters.database import MIGRATION_NAMES, Database
from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.domain.backup import Manifest
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.telemetry import InvocationFilter
from tests.knowledge import tree, write_documents
from tests.values import make_invocation


@pytest.fixture
def places(tmp_path: Path) -> Places:
    base, state = tmp_path / "docs", tmp_path / "state"
    write_documents(base, {"api/支付.md": "# 支付\n", "b.MD": "# b", "logo.png": b"png", ".hidden/x.md": "x"})
    database = Database(state / "kbapp.sqlite3")
    InvocationLog(database).record(make_invocation("i1"))
    database.close()
    return Places(base, state, state / "kbapp.sqlite3", tmp_path / "kbapp.yaml")


@pytest.fixture
def export(places: Places) -> BackupExport:
    return BackupExport(places, DocumentFiles(places.base_folder))


def importer(tmp_path: Path, check_settings: Callable[[Path], object] = Path.exists) -> BackupImport:
    base, state = tmp_path / "target/docs", tmp_path / "target/state"
    state.mkdir(parents=True)
    return BackupImport(
        Places(base, state, state / "kbapp.sqlite3", tmp_path / "target/kbapp.yaml"),
        DocumentFiles(base),
        check_settings,
    )


def files_of(folder: Path) -> set[str]:
    """Without what SQLite and locks need."""
    return {name for name in tree(folder) if not name.endswith((".lock", "-wal", "-shm"))}


def names(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return tar.getnames()


def test_an_archive_holds_documents_database_settings_and_a_manifest_of_each(
    places: Places, export: BackupExport, tmp_path: Path
) -> None:
    places.settings_file.write_text("retrieval.l1.top-k: 4\n")
    write_documents(places.base_folder, {"synonyms.yaml": "- [a, b]\n"})
    report = export.run(tmp_path / "b.tar.gz")
    wanted = ["documents/api/支付.md", "documents/b.MD", "documents/synonyms.yaml", "kbapp.yaml", "kbapp.sqlite3"]
    assert names(report.file) == [*wanted, "manifest.json"]
    assert (report.documents, report.database and report.database.telemetry) == (2, 1)
    manifest = read_archive(report.file)
    assert [member.name for member in manifest.members] == wanted
    assert manifest.schema == MIGRATION_NAMES[-1]
    assert report.file.stat().st_mode & 0o777 == 0o600
    assert report.size_bytes == report.file.stat().st_size


def test_secrets_comments_and_addresses_with_passwords_are_left_out_and_named(
    places: Places, export: BackupExport, tmp_path: Path
) -> None:
    places.settings_file.write_text(
        "# old key: sk-comment\nembedding:\n  api-key: sk-1\n  base-url: http://u:sk-2@host/v1\nllm.api-key: sk-3\n"
        "milvus: {token: 'root:sk-4', uri: 'http://host/?token=sk-5'}\nretrieval: {hint-language: zh}\n"
    )
    report = export.run(tmp_path / "b.tar.gz")
    with tarfile.open(report.file) as tar:
        everything = [stream.read() for member in tar if (stream := tar.extractfile(member))]
    assert not [data for data in everything if b"sk-" in data]
    assert set(report.secrets) == {
        "embedding.api-key",
        "embedding.base-url",
        "llm.api-key",
        "milvus.token",
        "milvus.uri",
    }
    assert b"retrieval.hint-language: zh\n" in everything


def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_exported(
    places: Places, export: BackupExport, tmp_path: Path
) -> None:
    (places.base_folder / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (places.base_folder / "big.md").write_bytes(b"x" * (5 * 1024 * 1024 + 1))
    report = export.run(tmp_path / "b.tar.gz")
    assert [problem.path for problem in report.left_out] == ["gone.md", "big.md"]
    assert report.documents == 2


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("there.tar.gz", "is there already: name another file, or overwrite it with --force"),
        ("docs/b.tar.gz", "is inside the knowledge base"),
        ("link/b.tar.gz", "is inside the knowledge base"),
        ("none/b.tar.gz", "does not exist: create it"),
        ("state", "is a folder: name a file"),
        ("nul\0.tar.gz", "cannot be written"),
        (f"{'x' * 300}.tar.gz", "cannot be written"),
    ],
)
def test_a_target_that_cannot_be_is_a_sentence_and_nothing_is_left(
    places: Places, export: BackupExport, tmp_path: Path, target: str, words: str
) -> None:
    (tmp_path / "there.tar.gz").write_text("precious")
    (tmp_path / "link").symlink_to(places.base_folder / "api")
    before = files_of(tmp_path)
    with pytest.raises(UserError, match=words):
        export.run(tmp_path / target)
    assert files_of(tmp_path) == before
    assert (tmp_path / "there.tar.gz").read_text() == "precious"


def test_force_overwrites_and_what_a_killed_export_left_goes(export: BackupExport, tmp_path: Path) -> None:
    (tmp_path / "b.tar.gz").write_text("old")
    (tmp_path / ".b.tar.gz.12345678.kbapp-export.tmp").write_text("half")
    (tmp_path / "state/export").mkdir()
    (tmp_path / "state/export/kbapp.sqlite3").write_text("half")
    export.run(tmp_path / "b.tar.gz", force=True)
    read_archive(tmp_path / "b.tar.gz")
    assert not list(tmp_path.glob(".*"))
    assert not (tmp_path / "state/export").exists()


_LIMITED = """
import resource, sys
from pathlib import Path
from kbapp.adapters.backup_export import BackupExport
from kbapp.adapters.backup_places import Places
from kbapp.adapters.document_files import DocumentFiles
root = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
places = Places(root / "docs", root / "state", root / "state/kbapp.sqlite3", root / "kbapp.yaml")
try:
    BackupExport(places, DocumentFiles(places.base_folder)).run(root / "b.tar.gz")
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(("limit", "words"), [(1_000_000, "UserError"), (20_000, "IndexUnavailable")])
def test_a_full_disk_is_a_sentence_and_nothing_is_left(places: Places, tmp_path: Path, limit: int, words: str) -> None:
    write_documents(places.base_folder, {"large.md": os.urandom(2_000_000)})
    before = files_of(tmp_path)
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", _LIMITED, str(tmp_path), str(limit)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stderr == ""
    assert process.stdout.startswith(words)
    assert "make space" in process.stdout
    assert files_of(tmp_path) == before


def test_two_exports_at_once_are_one_too_many(export: BackupExport, tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / "state/export.lock"),
        pytest.raises(IndexUnavailable, match="another export is running"),
    ):
        export.run(tmp_path / "b.tar.gz")


def test_a_database_of_a_newer_kbapp_is_refused_with_both_schemas(
    places: Places, export: BackupExport, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(places.database, isolation_level=None)) as connection:
        connection.execute("UPDATE _sqlite_migrations SET name = 'V999' WHERE name = ?", (MIGRATION_NAMES[-1],))
    export.run(tmp_path / "b.tar.gz")
    target = importer(tmp_path)
    words = rf"schema downgrade refused: its database has schema V999, this kbapp knows {MIGRATION_NAMES[-1]} at most"
    with pytest.raises(UserError, match=words):
        target.run(tmp_path / "b.tar.gz")
    assert not (tmp_path / "target/docs").exists()


def test_a_database_is_judged_by_itself_whatever_the_manifest_says(places: Places, tmp_path: Path) -> None:
    with closing(sqlite3.connect(places.database, isolation_level=None)) as connection:
        connection.execute("UPDATE _sqlite_migrations SET name = 'V999' WHERE name = ?", (MIGRATION_NAMES[-1],))
        connection.execute("VACUUM INTO ?", (str(tmp_path / "copy"),))
    with (tmp_path / "b.tar.gz").open("wb") as stream, ArchiveWriter(stream) as writer:
        writer.add_file("kbapp.sqlite3", tmp_path / "copy")
        writer.finish(Manifest("0.1.0", "2026-01-01", "V001", None, vectors=True, members=tuple(writer.members)))
    with pytest.raises(UserError, match=r"b\.tar\.gz: schema downgrade refused: its database has schema V999"):
        importer(tmp_path).run(tmp_path / "b.tar.gz")
    assert not (tmp_path / "target/docs").exists()


def test_a_database_of_an_older_kbapp_is_migrated_and_keeps_its_rows(
    places: Places, export: BackupExport, tmp_path: Path
) -> None:
    from sqlite_utils import Database as UtilsDatabase

    from kbapp.adapters.migrations import migrations

    places.database.unlink()
    with closing(sqlite3.connect(places.database, isolation_level=None)) as old:
        migrations.apply(UtilsDatabase(old), stop_before="V010")
        old.execute(
            "INSERT INTO tool_invocation (id, session_id, tool_name, query, created_at, duration_ms, l0_ms,"
            " l0_match_count, l1_called, found, outcome) VALUES ('i1', 's1', 'lookup_knowledge', '支付超时',"
            " '2026-01-01T00:00:00.000+00:00', 1.5, 0.5, 1, 0, 1, 'ok')"
        )
    export.run(tmp_path / "b.tar.gz")
    report = importer(tmp_path).run(tmp_path / "b.tar.gz")
    assert report.migrated_from == "V009"
    database = Database(tmp_path / "target/state/kbapp.sqlite3")
    assert [row.query for row in InvocationLog(database).rows(InvocationFilter())] == ["支付超时"]
    database.close()


def test_settings_are_written_without_places_where_none_are_and_else_left_alone(
    places: Places, export: BackupExport, tmp_path: Path
) -> None:
    places.settings_file.write_text("state-dir: s\nknowledge.base-path: docs\nretrieval: {l1: {top-k: 4}}\n")
    export.run(tmp_path / "b.tar.gz")
    target = importer(tmp_path)
    assert target.run(tmp_path / "b.tar.gz").settings == ("retrieval.l1.top-k",)
    file = tmp_path / "target/kbapp.yaml"
    assert file.read_text() == "retrieval.l1.top-k: 4\n"
    file.write_text("# mine\nretrieval.l1.top-k: 5\n")
    report = target.run(tmp_path / "b.tar.gz", replacing=True)
    assert (report.settings, report.other_settings) == ((), ("retrieval.l1.top-k",))
    assert file.read_text() == "# mine\nretrieval.l1.top-k: 5\n"


def test_settings_that_this_program_does_not_know_are_refused_before_anything_changes(
    places: Places, export: BackupExport, tmp_path: Path
) -> None:
    def refuse(file: Path) -> None:
        raise UserError(f"unknown setting in {file.name}")

    places.settings_file.write_text("future: 1\n")
    export.run(tmp_path / "b.tar.gz")
    with pytest.raises(UserError, match=r"b\.tar\.gz: unknown setting"):
        importer(tmp_path, refuse).run(tmp_path / "b.tar.gz")
    assert not (tmp_path / "target/docs").exists()
