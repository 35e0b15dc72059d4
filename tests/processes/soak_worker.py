"""A process that stays: works on a knowledge base when told so, with the bundled model and following the files.

``["work", seconds]`` gives the lines of ``chaos_work`` and then ``["rested"]``; ``["check"]`` tells what the invariant
and the telemetry say; anything else ends it as a person would.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import sqlite3
import sys
import time
import traceback
from contextlib import closing
from pathlib import Path

from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder
from kbapp.bootstrap import DATABASE_FILE, open_knowledge_base
from kbapp.service.knowledge_base import KnowledgeBase
from tests.crash.invariant import assert_invariant
from tests.knowledge import settings_for
from tests.processes.chaos_work import Work
from tests.processes.chaos_worker import say

PATIENCE_SECONDS = 120


def work(mixed: Work, kb: KnowledgeBase, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
        mixed.step(kb)
    faulthandler.cancel_dump_traceback_later()
    say("rested")


def check(folder: Path) -> None:
    """In a process of its own, beside those that go on following."""
    embedder = open_embedder(EmbeddingOptions(default_model()))
    with open_knowledge_base(settings_for(folder)) as kb:
        kb.reindex()
        assert_invariant(kb, folder, embedder)
        documents = len(kb.documents())
    with closing(sqlite3.connect(folder / "state" / DATABASE_FILE)) as database:
        tables = ("tool_invocation", "feedback")
        calls, marks = ([row[0] for row in database.execute(f"SELECT id FROM {table}")] for table in tables)
    say("checked", documents, calls, marks)


def main(folder: Path, role: str, life: str, seed: int) -> None:
    logging.disable(logging.CRITICAL)
    try:
        if role == "check":
            check(folder)
            return
        mixed = Work(folder, role, life, seed, say)
        with open_knowledge_base(settings_for(folder)) as kb:
            kb.follow()
            say("open")
            for line in sys.stdin:
                word, *seconds = json.loads(line)
                if word != "work":
                    break
                work(mixed, kb, *seconds)
        say("ended")
    except BaseException:  # noqa: BLE001 - the driver is told whatever ends the work
        say("failed", traceback.format_exc())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
