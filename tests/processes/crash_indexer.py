"""An indexer that is killed: each line ``[folder, task, seed, kill]`` is done by a child of its own.

The parent has imported everything and opened nothing, so that a child starts in milliseconds. ``kill`` is the number of
changing calls after which the child kills itself (null: never), or ``{"seconds": s}`` after which it is killed from
outside. A child says what it does; the parent says ``null`` when the child is gone.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import milvus_lite.server_manager
import pymilvus
import sqlite_utils

from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.document_records import DocumentRecords
from kbapp.adapters.embedding_cache import EmbeddingCache
from kbapp.adapters.milvus_index import MilvusIndex
from tests.knowledge import open_for_test
from tests.processes.crash_samples import POISON, Changes, RefusingEmbedder, unique_text

PATIENCE_SECONDS = 60  # then a child says where it hangs
IMPORTED = (milvus_lite, pymilvus, sqlite_utils)

# Killed between two of these, a process leaves what it leaves when it is killed right after the former one.
CHANGING_CALLS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (DocumentFiles, ("save", "delete", "remove_leftovers")),
    (DocumentRecords, ("save", "commit_chunks", "delete", "set_state")),
    (EmbeddingCache, ("put",)),
    (MilvusIndex, ("_flush", "write", "delete", "drop_other_collections")),
    (RefusingEmbedder, ("embed_passages",)),
)


class Killer:
    """Says the number of each step, and kills this process at the last one that it may reach."""

    def __init__(self, last: int | None) -> None:
        self._last = last
        self._steps = 0

    def watch(self) -> None:
        for kind, names in CHANGING_CALLS:
            for name in names:
                setattr(kind, name, self._stepping(getattr(kind, name)))
        self._step("start")

    def _stepping(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if method.__name__ == "_flush":  # what is written is in the log only; the step after it is its caller's
                self._step("before flush")
                return method(*arguments, **options)
            result = method(*arguments, **options)
            self._step(method.__qualname__)
            return result

        return call

    def _step(self, name: str) -> None:
        say("step", self._steps, name)
        if self._steps == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        self._steps += 1


def say(*words: object) -> None:
    os.write(sys.stdout.fileno(), json.dumps(words).encode() + b"\n")


def follow(folder: Path, seed: int) -> None:
    """What every start does."""
    with open_for_test(folder, RefusingEmbedder()) as kb:
        kb.refresh()


def scenario(folder: Path, seed: int) -> None:
    """Follow what was done to the files; upload, replace, replace by what is refused, by nothing; delete."""
    with open_for_test(folder, RefusingEmbedder()) as kb:
        kb.refresh()
        kb.upload("上传.md", unique_text("upload").encode(), "api")
        kb.upload("上传.md", unique_text("replaced").encode(), "api", replace=True)
        kb.upload("上传.md", unique_text("refused", POISON).encode(), "api", replace=True)
        kb.upload("上传.md", b"\n", "api", replace=True)
        kb.delete("delete/deleted.md")


def workload(folder: Path, seed: int) -> None:
    """Change files and documents at random, with a restart now and then, for ever."""
    changes = Changes(folder / "knowledge_base", seed, say)
    while True:
        with open_for_test(folder, RefusingEmbedder()) as kb:
            kb.refresh()
            say("open")
            for _ in range(1 + seed % 10):
                changes.make(kb)


TASKS: dict[str, Callable[[Path, int], None]] = {"follow": follow, "scenario": scenario, "workload": workload}


def run(folder: str, task: str, seed: int, kill: int | None) -> None:
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    Killer(kill).watch()
    TASKS[task](Path(folder), seed)


def main() -> None:
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        folder, task, seed, kill = json.loads(line)
        child = os.fork()
        if child == 0:
            run(folder, task, seed, kill if isinstance(kill, int) else None)
            os._exit(0)
        if isinstance(kill, dict):
            time.sleep(kill["seconds"])
            os.kill(child, signal.SIGKILL)
        say("gone", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    assert threading.active_count() == 1, "fork before any thread starts"
    main()
