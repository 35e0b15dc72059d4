"""Back-pressure: so many at once, the others wait in the order they came, and not for ever."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """At most ``limit`` inside. Thread-safe and fair: whoever leaves hands the place to the one that waits longest."""

    def __init__(self, limit: int, wait_seconds: float) -> None:
        self.limit = limit
        self.wait_seconds = wait_seconds
        self._free = limit
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        """How many could enter now."""
        return self._free

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    @contextmanager
    def entered(self) -> Iterator[bool]:
        """Inside for the block; False: no place became free in time, and nobody is inside."""
        is_inside = self._enter()
        try:
            yield is_inside
        finally:
            if is_inside:
                self._leave()

    def _enter(self) -> bool:
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = threading.Event()
            self._waiting.append(turn)
        try:
            if turn.wait(self.wait_seconds):
                return True
        except BaseException:  # Ctrl+C
            if not self._gave_up(turn):
                self._leave()
            raise
        return not self._gave_up(turn)

    def _gave_up(self, turn: threading.Event) -> bool:
        """Wait no more; false: the place was handed over at the last moment."""
        with self._lock:
            if turn.is_set():
                return False
            self._waiting.remove(turn)
            return True

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
