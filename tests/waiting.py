"""Waiting for what other threads and processes do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LOOK_AGAIN_SECONDS = 0.02


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> float:
    """Wait until the condition holds, and tell how many seconds it took; an AssertionError when it never does."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, f"still not so after {seconds} s"
        threading.Event().wait(LOOK_AGAIN_SECONDS)
    return time.monotonic() - started
