"""Follows the files while a process runs: a thread that reconciles on what a watch tells, and now and then (S2)."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from kbapp.domain.errors import IndexBusy, KbError
from kbapp.service.clock import now
from kbapp.service.index_report import ChangeKind, DocumentChange, IndexProgress, IndexReport, OnProgress

logger = logging.getLogger("kbapp.follower")

MAX_WAIT_SECONDS = 1.0  # so long a burst of events can put a reconcile off
RETRY_SECONDS = 0.3  # while another process holds the index lock


class FollowMode(StrEnum):
    """How changes of the files are noticed."""

    OFF = "off"
    EVENTS = "events"
    POLLING = "polling"


@dataclass(frozen=True, slots=True)
class FollowStatus:
    """How the files are followed; ``changes`` are what the last reconcile that found any did.

    ``last_scan`` is the end of the last reconcile (UTC, ISO 8601), ``scans`` the number of reconciles, ``problem`` one
    sentence, ``indexing`` set while texts are embedded.
    """

    mode: FollowMode = FollowMode.OFF
    scans: int = 0
    last_scan: str | None = None
    changes: tuple[DocumentChange, ...] = ()
    problem: str | None = None
    indexing: IndexProgress | None = None


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """How long it must have been quiet before a reconcile, and how often there is one without any event."""

    debounce_seconds: float
    reconcile_seconds: float


class FolderWatch(Protocol):
    """Calls back when something changed that can matter to the documents; used by one thread."""

    is_polling: bool
    problem: str | None

    def keep(self) -> None:
        """Watch, or go on watching."""

    def begin_anew(self) -> None:
        """Watch as if for the first time."""

    def stop(self) -> None:
        """Call back no more."""


OpenWatch = Callable[[Callable[[], None]], FolderWatch]


class Followed(Protocol):
    """What is kept in line: a ``KnowledgeBase``."""

    def refresh(self, on_progress: OnProgress | None = None) -> IndexReport:
        """Follow what changed in the files; ``IndexBusy`` while another process does so."""

    def follow_keywords(self) -> None:
        """Bring L0 in line with what other processes indexed."""

    def calibrate_levels(self, on_progress: OnProgress | None = None) -> None:
        """Find where levels begin, when that is due."""

    def warm_up(self) -> None:
        """Load what the first search would wait for; ``IndexUnavailable`` when that cannot be had."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Events that no reconcile has seen, by the time of the first and of the last."""

    first: float
    last: float


def due_at(pending: Pending | None, next_scan: float, options: FollowOptions) -> float:
    """When to reconcile: once it is quiet after an event, but not put off for ever; else at the next scan."""
    if pending is None:
        return next_scan
    quiet = pending.last + options.debounce_seconds
    patience = max(MAX_WAIT_SECONDS, options.debounce_seconds)
    return min(quiet, pending.first + patience, next_scan)


class Follower:
    """Starts with a reconcile and goes on until ``stop``. Thread-safe; for one use."""

    def __init__(self, followed: Followed, open_watch: OpenWatch, options: FollowOptions) -> None:
        self._followed = followed
        self._watch = open_watch(self.notice)
        self._options = options
        self._wake = threading.Condition()  # guards the next three fields
        self._pending: Pending | None = None
        self._next_scan = -math.inf
        self._is_stopping = False
        self._was_told = True  # of events since the last reconcile; the first one needs none
        self._status = FollowStatus(mode=FollowMode.EVENTS)  # written by the thread alone
        self._thread = threading.Thread(target=self._run, name="kbapp-follower", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End; waits until what is being embedded or written at the moment is done."""
        with self._wake:
            self._is_stopping = True
            self._wake.notify()
        self._thread.join()

    def notice(self) -> None:
        """Something changed."""
        moment = time.monotonic()
        with self._wake:
            self._pending = replace(self._pending, last=moment) if self._pending else Pending(moment, moment)
            self._wake.notify()

    @property
    def status(self) -> FollowStatus:
        """What is going on."""
        status = self._status
        problems = [problem for problem in (status.problem, self._watch.problem) if problem]
        mode = FollowMode.POLLING if self._watch.is_polling else FollowMode.EVENTS
        return replace(status, mode=mode, problem="; ".join(problems) or None)

    def _run(self) -> None:
        try:
            while self._wait():
                self._survive()
        finally:
            self._watch.stop()

    def _wait(self) -> bool:
        """Wait until a reconcile is due; false to stop."""
        with self._wake:
            while not self._is_stopping:
                seconds = due_at(self._pending, self._next_scan, self._options) - time.monotonic()
                if seconds <= 0:
                    self._was_told = self._was_told or self._pending is not None
                    self._pending = None
                    return True
                self._wake.wait(seconds)
        return False

    def _survive(self) -> None:
        """Reconcile; whatever goes wrong is shown, logged once, and tried again later."""
        problem, seconds = None, self._options.reconcile_seconds
        try:
            self._reconcile()
        except _StoppedError:
            return
        except IndexBusy as error:
            problem, seconds = None if error.by_this_process else str(error), RETRY_SECONDS
        except KbError as error:
            problem = str(error)
            if problem != self._status.problem:
                logger.warning("%s", problem)
        except Exception as error:
            # A defect must not end the thread: the next event may go well.
            problem = f"the files cannot be followed ({type(error).__name__}: {error}): the log says more"
            if problem != self._status.problem:
                logger.exception("the files cannot be followed")
        self._status = replace(self._status, problem=problem, indexing=None)
        self._next_scan = time.monotonic() + seconds

    def _reconcile(self) -> None:
        self._watch.keep()  # first, so that what changes during the reconcile is an event
        try:
            report = self._followed.refresh(self._show_progress)
        except IndexBusy:
            with suppress(KbError):  # the reconcile after this one tells
                self._followed.follow_keywords()
            raise
        self._status = replace(
            self._status,
            scans=self._status.scans + 1,
            last_scan=now(),
            changes=report.changes or self._status.changes,
        )
        if self._status.scans == 1:
            with suppress(KbError):  # the first search tells
                self._followed.warm_up()
        was_told, self._was_told = self._was_told or self._pending is not None, False
        if not was_told and len(report.changes) > report.count(ChangeKind.FAILED):
            logger.info("%d changes came without an event: watching anew", len(report.changes))
            self._watch.begin_anew()
            self.notice()  # of what changed since the scan, unseen
        with suppress(_InterruptedError):
            self._followed.calibrate_levels(self._show_levels)

    def _show_progress(self, progress: IndexProgress) -> None:
        if self._is_stopping:
            raise _StoppedError
        self._status = replace(self._status, indexing=progress)

    def _show_levels(self, progress: IndexProgress) -> None:
        if self._pending is not None:
            raise _InterruptedError
        self._show_progress(progress)


class _InterruptedError(Exception):
    """Leaves a calibration, since files have changed; the next one goes on from there."""


class _StoppedError(Exception):
    """Leaves a reconcile that is embedding; the next one goes on from there."""
