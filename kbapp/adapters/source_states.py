"""The breakers that are not closed, of every process on a state folder: a small file for each process."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from kbapp.adapters.disk import PRIVATE_FILE, write_whole
from kbapp.domain.circuit_breaker import BreakerKind, SourceState

logger = logging.getLogger("kbapp.lookup")

_FILE = "breakers-{pid}.json"


class SourceStates:
    """Writes those of this process, reads those of others. Thread-safe; a disk that fails is only logged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: dict[str, SourceState] = {}
        self._lock = threading.Lock()

    def note(self, state: SourceState) -> None:
        """A breaker of this process has changed."""
        with self._lock:
            self._own[state.name] = state
            self._write([state for state in self._own.values() if state.kind is not BreakerKind.CLOSED])

    def of_others(self) -> tuple[SourceState, ...]:
        """The breakers of other processes that live and are not closed."""
        return tuple(state for file in sorted(self._folder.glob(_FILE.format(pid="*"))) for state in _read(file))

    def close(self) -> None:
        """This process ends."""
        with self._lock:
            self._write([])

    def _write(self, states: list[SourceState]) -> None:
        file = self._folder / _FILE.format(pid=os.getpid())
        try:
            if not states:
                file.unlink(missing_ok=True)
                return
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(file, json.dumps([asdict(state) for state in states]).encode(), mode=PRIVATE_FILE)
        except OSError as error:
            logger.warning("the state of the breakers is not shown to other processes: %s", error)


def _read(file: Path) -> Iterator[SourceState]:
    """None of a file that is just being written, or of a process that is gone: its file goes, too."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        states = [
            SourceState(**{**row, "kind": BreakerKind(row["kind"])}) for row in json.loads(file.read_text("utf-8"))
        ]
        if any(not _lives(state.pid) for state in states):
            file.unlink(missing_ok=True)
        else:
            yield from (state for state in states if state.pid != os.getpid())


def _lives(pid: int) -> bool:
    if os.name == "nt":  # where the signal 0 is Ctrl+C
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True
