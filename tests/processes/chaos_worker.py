"""Starts and ends processes that work on a knowledge base until they are killed; one JSON list per line in and out.

``[folder, task, life, seed]`` starts one in a child (see ``TASKS``), which first says ``["started", pid]``;
``[signal]`` ends it, and ``["gone", status]`` is the last that is said of it. Signal 0 waits. The parent has imported
everything and opened nothing, so that a child starts in milliseconds and a kill meets the product, not the imports.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import random
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import milvus_lite.server_manager
import pymilvus
import sqlite_utils
import watchdog.observers

from kbapp.adapters import watcher
from kbapp.adapters.database import MIGRATION_NAMES
from kbapp.adapters.migrations import migrations
from kbapp.adapters.milvus_engine import DAMAGED_FOLDER
from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.errors import IndexBusy
from kbapp.domain.telemetry import InvocationFilter
from tests.crash.invariant import assert_repaired
from tests.knowledge import open_for_test, write_documents
from tests.processes.chaos_work import SlowEmbedder, Work
from tests.processes.crash_samples import RefusingEmbedder, unique_text

IMPORTED = (milvus_lite, pymilvus, sqlite_utils, watchdog, watcher)
PATIENCE_SECONDS = 90  # for one step; then a child says where it hangs
SYNC_SECONDS = 0.02
DOCUMENTS = 16
OLD = "old"  # begins the ids of rows that are to be pruned
OLD_DAYS, OLD_ROWS, RECENT_ROWS = 400, 300, 20
FIRST_WITH_ROWS = MIGRATION_NAMES.index("V010")
FORMER = MIGRATION_NAMES[FIRST_WITH_ROWS:]
INSERT = (
    "INSERT INTO tool_invocation (id, session_id, tool_name, query, created_at, duration_ms, l0_ms, l0_match_count,"
    " l1_called, found, outcome, retrieval_details) VALUES (?, 's1', 'lookup_knowledge', '支付超时', ?, 1.5, 0.5, 1,"
    " 0, 1, 'ok', '{\"l0_titles\": [\"支付\"]}')"
)
COUNTED = "SELECT count(*) FROM tool_invocation WHERE tool_name = 'lookup_knowledge'"
STRAY = (
    "SELECT count(*) FROM given_document WHERE invocation_id NOT IN (SELECT id FROM tool_invocation)",
    "SELECT count(*) FROM feedback WHERE invocation_id NOT IN (SELECT id FROM tool_invocation)",
)


def say(*words: object) -> None:
    os.write(sys.stdout.fileno(), json.dumps(words).encode() + b"\n")


def prepare(folder: Path, life: str, seed: int) -> None:
    """Documents, and a database of a former version with rows, some of them to be pruned; now and then none at all."""
    write_documents(
        folder / "knowledge_base",
        {f"writer/{life} {number}.md": unique_text(f"{life}p{number}") for number in range(DOCUMENTS)},
    )
    next_version = random.Random(seed).choice([*FORMER, None])
    recent = [f"{life}-{number}" for number in range(RECENT_ROWS)] if next_version else []
    if next_version:
        (folder / "state").mkdir()
        with closing(sqlite3.connect(folder / "state" / DATABASE_FILE, isolation_level=None)) as database:
            migrations.apply(sqlite_utils.Database(database), stop_before=next_version)
            old = [f"{OLD}-{number}" for number in range(OLD_ROWS)]
            for ids, days in ((recent, 0), (old, OLD_DAYS)):
                moment = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
                database.executemany(INSERT, [(row_id, moment) for row_id in ids])
    say("prepared", next_version, recent)


def on_a_slow_disk() -> None:
    """Writing takes as long as it does on a disk, so that processes are killed meanwhile as well."""
    sync = os.fsync

    def slow_sync(descriptor: Any) -> None:
        time.sleep(random.uniform(0, SYNC_SECONDS))
        sync(descriptor)

    os.fsync = slow_sync  # type: ignore[assignment]


def work(role: str, folder: Path, life: str, seed: int) -> None:
    """Open, work, close, and again, until a signal."""
    ending = threading.Event()
    on_a_slow_disk()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    some = random.Random(seed)
    mixed = Work(folder, role, life, seed, say)
    while not ending.is_set():
        with open_for_test(folder, SlowEmbedder()) as kb:
            say("open")
            if some.random() < 0.5:
                kb.follow()
            else:
                with suppress(IndexBusy):
                    kb.refresh()
            for _ in range(some.randrange(5, 80)):
                if ending.is_set():
                    break
                faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
                mixed.step(kb)


def check(folder: Path, life: str, seed: int) -> None:
    """What holds after any kill, in a process that has seen nothing of it; says what the telemetry holds."""
    assert_repaired(folder)
    with open_for_test(folder, RefusingEmbedder()) as kb:
        assert kb.reindex().embedded == 0
        counted, documents = kb.telemetry_summary(InvocationFilter()).calls, len(kb.documents())
    with closing(sqlite3.connect(folder / "state" / DATABASE_FILE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        assert [database.execute(statement).fetchone()[0] for statement in STRAY] == [0, 0]
        assert counted == database.execute(COUNTED).fetchone()[0]
        calls, marks = (
            [row[0] for row in database.execute(f"SELECT id FROM {table}")] for table in ("tool_invocation", "feedback")
        )
    assert not any(row_id.startswith(OLD) for row_id in calls), "old rows were not pruned"
    say("checked", documents, (folder / "state" / DAMAGED_FOLDER).exists(), calls, marks)


TASKS: dict[str, Callable[[Path, str, int], None]] = {
    "prepare": prepare,
    "writer": partial(work, "writer"),
    "reader": partial(work, "reader"),
    "check": check,
}


def run(folder: str, task: str, life: str, seed: int) -> int:
    say("started", os.getpid())
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    try:
        TASKS[task](Path(folder), life, seed)
    except BaseException:  # noqa: BLE001 - the driver is told whatever ends the work
        say("failed", traceback.format_exc())
        return 1
    return 0


def main() -> None:
    logging.disable(logging.CRITICAL)
    child = 0
    for line in sys.stdin:
        words = json.loads(line)
        if len(words) == 1:
            if words[0]:
                os.kill(child, words[0])  # not reaped yet, so it is the child
            say("gone", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        else:
            child = os.fork()
            if child == 0:
                os._exit(run(*words))


if __name__ == "__main__":
    assert threading.active_count() == 1, "fork before any thread starts"
    main()
