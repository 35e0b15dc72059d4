import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.database import MIGRATION_NAMES, Database
from kbapp.adapters.disk import make_private_file
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import InvocationFilter
from tests.values import make_invocation


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "kbapp.sqlite3"


def test_t3_the_known_migration_names_are_those_that_exist() -> None:
    from kbapp.adapters.migrations import migrations

    assert tuple(migration.name for migration in migrations._migrations) == MIGRATION_NAMES


def test_a_new_database_has_all_tables_and_a_second_opening_changes_nothing(file: Path) -> None:
    for _ in range(2):
        database = Database(file)
        with database.read() as connection:
            tables = {row["name"] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        database.close()
        assert {"api_document", "chunk", "chunk_fts", "embedding_cache", "index_state"} <= tables


def test_a_transaction_is_rolled_back_when_an_exception_leaves_it(file: Path) -> None:
    database = Database(file)

    def insert_and_fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO index_state VALUES ('a', '1')")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        insert_and_fail()
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM index_state").fetchone()[0] == 0
    database.close()


def test_a_reader_does_not_wait_for_a_transaction(file: Path) -> None:
    database = Database(file)
    seen = []

    def read() -> None:
        with database.read() as connection:
            seen.append(connection.execute("SELECT count(*) FROM index_state").fetchone()[0])

    with database.write() as connection:
        connection.execute("INSERT INTO index_state VALUES ('a', '1')")
        reader = threading.Thread(target=read)
        reader.start()
        reader.join(timeout=30)
        assert seen == [0]
    read()
    assert seen == [0, 1]
    database.close()


def test_a_reading_connection_cannot_write(file: Path) -> None:
    database = Database(file)
    with pytest.raises(IndexUnavailable), database.read() as connection:
        connection.execute("DELETE FROM index_state")
    database.close()


def test_a_newer_database_is_refused_and_left_alone(file: Path) -> None:
    database = Database(file)
    with database.write() as connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('kbapp', 'V999', '2026-01-01')"
        )
    database.close()
    versions = rf"newer kbapp \(it has schema V999, this one knows {MIGRATION_NAMES[-1]}\): update kbapp.*--state-dir"
    with pytest.raises(IndexUnavailable, match=versions), Database(file).read():
        pass


def test_a_file_that_is_no_database_is_refused_with_the_way_out_and_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is not a database" * 100)
    with pytest.raises(IndexUnavailable, match="move it away and run `kbapp index`"), Database(file).read():
        pass
    assert file.read_bytes() == b"this is not a database" * 100


def test_a_state_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(IndexUnavailable, match="--state-dir"), Database(tmp_path / "state" / "kbapp.sqlite3").read():
        pass


def test_the_state_folder_is_for_its_owner_alone(file: Path) -> None:
    with Database(file).read():
        pass
    assert file.parent.stat().st_mode & 0o077 == 0


def test_two_processes_worth_of_openings_migrate_once(file: Path) -> None:
    databases = [Database(file) for _ in range(12)]
    errors: list[Exception] = []

    def open_one(database: Database) -> None:
        try:
            with database.read() as connection:
                connection.execute("SELECT count(*) FROM chunk").fetchone()
        except (IndexUnavailable, sqlite3.Error) as error:
            errors.append(error)

    threads = [threading.Thread(target=open_one, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for database in databases:
        database.close()
    assert errors == []


def test_t3_a_database_of_v009_is_migrated_and_keeps_its_rows(file: Path) -> None:
    from sqlite_utils import Database as UtilsDatabase

    from kbapp.adapters.migrations import migrations

    file.parent.mkdir()
    old = sqlite3.connect(file, isolation_level=None)
    migrations.apply(UtilsDatabase(old), stop_before="V010")
    old.execute(
        "INSERT INTO tool_invocation (id, session_id, tool_name, query, created_at, duration_ms, l0_ms, l0_match_count,"
        " l1_called, found, outcome, retrieval_details) VALUES ('i1', 's1', 'lookup_knowledge', '支付超时',"
        " '2026-01-01T00:00:00.000+00:00', 1.5, 0.5, 1, 0, 1, 'ok', '{\"l0_titles\": [\"支付\"]}')"
    )
    old.execute("INSERT INTO feedback VALUES ('f1', 'i1', 'helpful', '', '2026-01-02T00:00:00.000+00:00')")
    assert "relevance_level" not in {row[1] for row in old.execute("PRAGMA table_info(tool_invocation)")}
    old.close()

    database = Database(file)
    log = InvocationLog(database)
    assert log.rows(InvocationFilter()) == [
        make_invocation(
            "i1",
            query="支付超时",
            duration_ms=1.5,
            l0_ms=0.5,
            l0_match_count=1,
            found=True,
            retrieval_details={"l0_titles": ["支付"]},
        )
    ]
    assert [mark.id for mark in log.feedback("i1")] == ["f1"]
    assert log.record(make_invocation("i2", relevance_level=RelevanceLevel.PRECISE))
    assert log.select("SELECT relevance_level, dedup_reason FROM tool_invocation ORDER BY id").rows == (
        (None, None),
        ("PRECISE", None),
    )
    database.close()


def test_two_of_one_process_and_another_process_keep_what_each_writes(file: Path) -> None:
    """POSIX drops all locks of a process on a file as soon as it closes any descriptor of it."""
    other = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "[c.execute('INSERT INTO index_state (name, value) VALUES (?, ?)', (f'{sys.argv[2]} {n}', 'x' * 5000))"
        " for n in range(10)]; c.close()"
    )
    first, second = Database(file), Database(file)
    for database in (first, second):
        with database.read() as connection:
            connection.execute("SELECT * FROM index_state").fetchall()
    for turn in range(4):
        subprocess.run([sys.executable, "-c", other, str(file), f"other {turn}"], check=True)
        for number in range(10):
            with first.write() as connection:
                values = (f"own {turn} {number}", "x" * 5000)
                connection.execute("INSERT INTO index_state (name, value) VALUES (?, ?)", values)
    first.close()
    second.close()
    with closing(sqlite3.connect(file)) as connection:
        kept = connection.execute("SELECT name FROM index_state WHERE value = ?", ("x" * 5000,)).fetchall()
    assert len(kept) == 80


def test_a_file_that_is_there_is_made_private_without_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    file.chmod(0o644)
    opened: list[int] = []
    monkeypatch.setattr(os, "close", lambda descriptor: opened.append(descriptor))
    make_private_file(file)
    assert opened == []
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("kept", 0o600)


def test_the_log_of_a_file_that_is_gone_is_not_read_as_that_of_the_one_in_its_place(file: Path, tmp_path: Path) -> None:
    ours, others, new = Database(file), Database(file), Database(tmp_path / "new.sqlite3")
    for database in (ours, others, new):
        with database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO index_state (name, value) VALUES ('of', ?)", (str(database.file),)
            )
    new.close()
    new.file.replace(file)
    for _ in range(2):
        with pytest.raises(IndexUnavailable, match=r"delete kbapp\.sqlite3-wal beside it"), ours.read():
            pass
        others.close()
    file.with_name(file.name + "-wal").unlink()
    file.with_name(file.name + "-shm").unlink()
    with ours.read() as connection:
        of = connection.execute("SELECT value FROM index_state WHERE name = 'of'").fetchone()[0]
    assert of == str(new.file)
    ours.close()


def test_a_transaction_that_takes_long_is_not_waited_for_longer_than_said(file: Path) -> None:
    with closing(Database(file)) as database, ThreadPoolExecutor(1) as pool:

        def write() -> None:
            with database.write(0.05):
                pass

        with database.write(), pytest.raises(IndexUnavailable, match="being written to"):
            pool.submit(write).result()
        write()
