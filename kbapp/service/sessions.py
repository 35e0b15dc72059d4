"""The sessions' memories: kept in this process, rebuilt from telemetry rows when it does not know them (T8, M5)."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from kbapp.domain.action_memory import EarlierCall, RetrievedDocTracker, SessionMemory
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import InvocationLog
from kbapp.service.given import call_of_row

logger = logging.getLogger("kbapp.sessions")


class Sessions:
    """Thread-safe. A session's calls come one after another: what one is given the next one knows."""

    def __init__(self, tracker: RetrievedDocTracker, log: InvocationLog, idle_minutes: float) -> None:
        self._tracker = tracker
        self._log = log
        self._idle = timedelta(minutes=idle_minutes)
        self._turns: weakref.WeakValueDictionary[str, _Turn] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, session: str | None) -> Iterator[SessionMemory]:
        """The session's memory, for one call: others of the same session wait."""
        if session is None:
            yield SessionMemory()
            return
        with self._lock:
            turn = self._turns.setdefault(session, _Turn())
        with turn.lock:
            yield self.memory(session)

    def memory(self, session: str) -> SessionMemory:
        """What the session was given so far."""
        known = self._tracker.memory(session)
        if known is not None:
            return known
        rebuilt = self._rebuilt(session)
        self._tracker.remember(session, rebuilt)
        return rebuilt

    def add(self, session: str | None, call: EarlierCall) -> None:
        """Remember one more call."""
        self._tracker.add(session, call)

    def clear(self, session: str) -> None:
        """Forget the session; the caller records the clear as a row."""
        self._tracker.clear_session(session)

    def _rebuilt(self, session: str) -> SessionMemory:
        since = (datetime.now(UTC) - self._idle).isoformat(timespec="milliseconds")
        try:
            rows = self._log.session_rows(session, since)
        except IndexUnavailable as error:
            logger.warning("the session %s begins anew: %s", session, error)
            return SessionMemory()
        return SessionMemory(tuple(call_of_row(row) for row in rows))


class _Turn:
    """The lock of one session; lives as long as somebody holds it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
