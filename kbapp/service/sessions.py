"""The sessions' memories: kept in this process, rebuilt from telemetry rows when it does not know them (T8, M5)."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from kbapp.domain.action_memory import EarlierCall, RetrievedDocTracker, SessionMemory
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import InvocationLog
from kbapp.service.given import call_of_row

logger = logging.getLogger("kbapp.sessions")

MAX_UNREAD = 1024  # sessions of an outage; more begin anew


class Sessions:
    """Thread-safe. A session's calls come one after another: what one is given the next one knows."""

    def __init__(
        self, tracker: RetrievedDocTracker, log: InvocationLog, idle_minutes: float, wait_seconds: float
    ) -> None:
        self._tracker = tracker
        self._log = log
        self._idle = timedelta(minutes=idle_minutes)
        self._wait_seconds = wait_seconds
        self._turns: weakref.WeakValueDictionary[str, _Turn] = weakref.WeakValueDictionary()
        self._unread: set[str] = set()  # sessions whose rows could not be read yet
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, session: str | None) -> Iterator[SessionMemory | None]:
        """The session's memory, for one call: others of the same session wait; None: it did not come in time."""
        if session is None:
            yield SessionMemory()
            return
        with self._lock:
            turn = self._turns.setdefault(session, _Turn())
        if not turn.lock.acquire(timeout=self._wait_seconds):
            yield None
            return
        try:
            yield self.memory(session)
        finally:
            turn.lock.release()

    def memory(self, session: str) -> SessionMemory:
        """What the session was given so far."""
        known = self._tracker.memory(session)
        if known is not None and session not in self._unread:
            return known
        rows = self._rows(session)
        if rows is None:
            if len(self._unread) >= MAX_UNREAD:
                self._unread.clear()
            self._unread.add(session)
            return known or SessionMemory()
        if session in self._unread:
            self._unread.discard(session)
            self._tracker.clear_session(session)
        rebuilt = _merged(rows, known.calls if known else ())
        self._tracker.remember(session, rebuilt)
        return rebuilt

    def add(self, session: str | None, call: EarlierCall) -> None:
        """Remember one more call."""
        self._tracker.add(session, call)

    def clear(self, session: str) -> None:
        """Forget the session; the caller records the clear as a row."""
        self._unread.discard(session)
        self._tracker.clear_session(session)

    def _rows(self, session: str) -> list[EarlierCall] | None:
        """What the telemetry knows of the session; None: it cannot be read now, the next call tries again."""
        since = (datetime.now(UTC) - self._idle).isoformat(timespec="milliseconds")
        try:
            return [call_of_row(row) for row in self._log.session_rows(session, since)]
        except IndexUnavailable as error:
            logger.warning("what the session %s was given cannot be read: %s", session, error)
            return None


def _merged(rows: Sequence[EarlierCall], held: Sequence[EarlierCall]) -> SessionMemory:
    """The calls of the rows, and those that left none, oldest first."""
    recorded = {call.invocation_id for call in rows}
    calls = [*rows, *(call for call in held if call.invocation_id not in recorded)]
    return SessionMemory(tuple(sorted(calls, key=lambda call: call.created_at) if held else calls))


class _Turn:
    """The lock of one session; lives as long as somebody holds it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
