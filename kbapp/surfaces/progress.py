"""Progress of indexing on stderr: rate and time left, from the first second on."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

from kbapp.service.index_report import IndexProgress, IndexStage

QUIET_SECONDS = 1.0
TERMINAL_INTERVAL_SECONDS = 0.2
FILE_INTERVAL_SECONDS = 5.0


class ProgressLine:
    """One line that rewrites itself on a terminal, a line every five seconds elsewhere; nothing within a second."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._started = time.monotonic()
        self._next = self._started + QUIET_SECONDS
        self._shown = False

    def show(self, progress: IndexProgress) -> None:
        """Take note of how far it is."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (TERMINAL_INTERVAL_SECONDS if self._is_terminal else FILE_INTERVAL_SECONDS)
        self._shown = True
        text = progress_text(self._label, progress, now - self._started)
        print(
            f"\r\x1b[K{text}" if self._is_terminal else text, end="" if self._is_terminal else "\n", file=self._stream
        )
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._is_terminal:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def progress_text(label: str, progress: IndexProgress, seconds: float) -> str:
    """``indexing 120 of 1530 chunks (8 %), 12.4 per second, 1:54 left``, or of the probe queries for the levels."""
    rate = progress.done / seconds if seconds > 0 else 0.0
    left = (progress.total - progress.done) / rate if rate else 0.0
    share = 100 * progress.done / max(progress.total, 1)
    is_levels = progress.stage is IndexStage.LEVELS
    label, what = ("calibrating levels:", "probe queries") if is_levels else (label, "chunks")
    return (
        f"{label} {progress.done} of {progress.total} {what} ({share:.0f} %),"
        f" {rate:.1f} per second, {int(left) // 60}:{int(left) % 60:02d} left"
    )
