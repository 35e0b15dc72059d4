"""The sources of a retrieval, each behind a circuit breaker; one that could hang is called with a time-out (X9)."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar

from kbapp.domain import circuit_breaker
from kbapp.domain.circuit_breaker import Breaker, BreakerKind, BreakerRules, SourceState
from kbapp.domain.errors import IndexUnavailable, RequestRefused, UserError

logger = logging.getLogger("kbapp.lookup")

T = TypeVar("T")

FORCED = "switched off for a demonstration (the switch at Home, or retrieval.breaker.forced-open)"
CLOSED = "the knowledge base is closed: open it again"
CLOSE_SECONDS = 5.0  # for calls under way; one that hangs is not waited for


class Call(Generic[T]):
    """A call of a source in a thread of its own, or one that was not admitted. Ask for its answer once.

    A daemon: one that hangs keeps no place from another call and no process from ending.
    """

    def __init__(
        self, stage: Stage, ticket: int | None, timeout_seconds: float, function: Callable[[], T], problem: str = ""
    ) -> None:
        self._stage = stage
        self._ticket = ticket
        self._timeout_seconds = timeout_seconds
        self._deadline = time.monotonic() + timeout_seconds
        self._function = function
        self._problem = problem
        self._outcome: Callable[[], T] | None = None
        self.ended = threading.Event()
        if ticket is not None:
            threading.Thread(target=self._run, name="kbapp-search", daemon=True).start()

    def answer(self) -> tuple[T | None, str | None]:
        """What the call returned, or why it did not: it failed, did not end in time, or was not made."""
        if self._ticket is None:
            return None, self._problem
        return self._stage.settled(self._ticket, self._value)

    def _run(self) -> None:
        try:
            value = self._function()
            self._outcome = lambda: value
        except BaseException as error:  # noqa: BLE001 - whatever it is, the caller is told
            self._outcome = partial(_raise, error)
        finally:
            self.ended.set()

    def _value(self) -> T:
        self.ended.wait(max(0.0, self._deadline - time.monotonic()))
        if self._outcome is None:
            raise IndexUnavailable(f"{self._stage.label} did not answer within {self._timeout_seconds:g} s")
        return self._outcome()


def _raise(error: BaseException) -> NoReturn:
    raise error


class Stage:
    """One source. Thread-safe."""

    def __init__(
        self,
        name: str,
        label: str,
        rules: BreakerRules,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[SourceState], None] = lambda _state: None,
    ) -> None:
        self.name = name
        self.label = label
        self._rules = rules
        self._clock = clock
        self._on_change = on_change
        self._breaker = Breaker(since=clock())
        self._lock = threading.Lock()

    def admit(self) -> int | None:
        """Whether a call may be made now: its ticket, for ``settle`` or ``abandon``."""
        with self._lock:
            breaker, ticket = circuit_breaker.admit(self._breaker, self._rules, self._clock())
            self._become(breaker)
            return ticket

    def settled(self, ticket: int, function: Callable[..., T], *arguments: object) -> tuple[T | None, str | None]:
        """What an admitted call returns, or why it does not; either way the breaker is told."""
        try:
            value = function(*arguments)
        except RequestRefused as error:
            self.abandon(ticket)
            return None, str(error)
        except IndexUnavailable as error:
            return None, self._failed(ticket, str(error))
        except Exception as error:
            logger.error("%s failed", self.label, exc_info=error)
            return None, self._failed(ticket, f"{self.label} failed ({type(error).__name__}: {error})")
        self.settle(ticket, None)
        return value, None

    def _failed(self, ticket: int, reason: str) -> str:
        self.settle(ticket, reason)
        return reason

    def settle(self, ticket: int, failure: str | None) -> None:
        """An admitted call succeeded, or failed for a reason."""
        with self._lock:
            self._become(circuit_breaker.settle(self._breaker, self._rules, ticket, now=self._clock(), failure=failure))

    def abandon(self, ticket: int) -> None:
        """An admitted call that says nothing about the source."""
        with self._lock:
            self._become(circuit_breaker.abandon(self._breaker, ticket))

    def force(self, *, is_open: bool) -> None:
        """Open the breaker until it is closed by hand; closing forgets what was counted."""
        with self._lock:
            now = self._clock()
            release, force = circuit_breaker.release, circuit_breaker.force
            self._become(force(self._breaker, now=now, reason=FORCED) if is_open else release(self._breaker, now=now))

    def state(self) -> SourceState:
        """How it is now."""
        return self._state_of(self._breaker)

    def pause(self) -> str:
        """Why nothing is asked now."""
        state = self.state()
        if state.is_forced:
            return f"{self.label} is {FORCED}"
        again = f"; tried again in {state.retry_seconds:.0f} s" if state.retry_seconds else ""
        return (
            f"{self.label} is not asked: {state.failures} of its last {state.calls} calls failed,"
            f" the last one because {state.reason}{again}"
        )

    def _become(self, breaker: Breaker) -> None:
        has_changed = (breaker.kind, breaker.is_forced) != (self._breaker.kind, self._breaker.is_forced)
        self._breaker = breaker
        if has_changed:
            logger.warning("%s: breaker %s %s", self.label, breaker.kind.value, breaker.reason)
            self._on_change(self._state_of(breaker))

    def _state_of(self, breaker: Breaker) -> SourceState:
        now = self._clock()
        if breaker.kind is BreakerKind.CLOSED:
            breaker = circuit_breaker.recent(breaker, self._rules, now)
        return SourceState(
            name=self.name,
            label=self.label,
            kind=breaker.kind,
            since=time.time() - (now - breaker.since),
            calls=breaker.calls,
            failures=breaker.failures,
            reason=breaker.reason,
            retry_seconds=circuit_breaker.seconds_to_probe(breaker, self._rules, now),
            is_forced=breaker.is_forced,
            pid=os.getpid(),
        )


class Stages:
    """The sources of a retrieval. Thread-safe; close it."""

    def __init__(self, vectors: Stage, full_text: Stage, *, timeout_seconds: float) -> None:
        self.vectors = vectors
        self.full_text = full_text
        self._timeout_seconds = timeout_seconds
        self._running: weakref.WeakSet[Call[Any]] = weakref.WeakSet()
        self._is_closed = False

    def run(self, stage: Stage, function: Callable[..., T], *arguments: object) -> tuple[T | None, str | None]:
        """Call a source that ends by itself, in this thread: what it returns, or why it does not."""
        ticket, problem = self._admitted(stage)
        return (None, problem) if ticket is None else stage.settled(ticket, function, *arguments)

    def start(self, stage: Stage, function: Callable[..., T], *arguments: object) -> Call[T]:
        """Begin a call of a source that could hang, unless its breaker is open; never raises."""
        ticket, problem = self._admitted(stage)
        call = Call(stage, ticket, self._timeout_seconds, partial(function, *arguments), problem)
        if ticket is not None:
            self._running.add(call)
        return call

    def _admitted(self, stage: Stage) -> tuple[int | None, str]:
        if self._is_closed:
            return None, CLOSED
        ticket = stage.admit()
        return ticket, "" if ticket is not None else stage.pause()

    def states(self) -> tuple[SourceState, ...]:
        """How each source is."""
        return self.vectors.state(), self.full_text.state()

    def force(self, name: str, *, is_open: bool) -> None:
        """Open a source's breaker by hand, or close it.

        Raises:
            UserError: there is no source of this name.
        """
        stages = {stage.name: stage for stage in (self.vectors, self.full_text)}
        if name not in stages:
            raise UserError(f"{name!r} is no source of the retrieval: say one of {', '.join(stages)}")
        stages[name].force(is_open=is_open)

    def close(self) -> None:
        """Admit no more, and wait for the calls under way, but not for one that hangs."""
        self._is_closed = True
        deadline = time.monotonic() + CLOSE_SECONDS
        for call in list(self._running):
            call.ended.wait(max(0.0, deadline - time.monotonic()))
