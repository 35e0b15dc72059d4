"""The sources of a retrieval, each behind a circuit breaker; one that could hang is called with a time-out (X9)."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

from kbapp.domain import circuit_breaker
from kbapp.domain.circuit_breaker import Breaker, BreakerRules, SourceState
from kbapp.domain.errors import IndexUnavailable, RequestRefused, UserError

logger = logging.getLogger("kbapp.lookup")

T = TypeVar("T")

SPARE_THREADS = 8  # a call that hangs keeps its thread until it ends
FORCED = "switched off for a demonstration"
CLOSED = "the knowledge base is closed: open it again"
CLOSE_SECONDS = 5.0  # for calls under way; one that hangs is not waited for


class Call(Generic[T]):
    """A call of a source that is under way, or was not admitted. Ask for its answer once."""

    def __init__(self, stage: Stage, ticket: int | None, future: Future[T] | None, problem: str = "") -> None:
        self._stage = stage
        self._ticket = ticket
        self._future = future
        self._problem = problem
        self._deadline = time.monotonic() + stage.timeout_seconds

    def answer(self) -> tuple[T | None, str | None]:
        """What the call returned, or why it did not: it failed, did not end in time, or was not made."""
        if self._future is None or self._ticket is None:
            return None, self._problem
        return self._stage.settled(self._ticket, self._value, self._future)

    def _value(self, future: Future[T]) -> T:
        try:
            return future.result(max(0.0, self._deadline - time.monotonic()))
        except TimeoutError:
            if future.done():
                raise
            future.cancel()
            stage = self._stage
            raise IndexUnavailable(f"{stage.label} did not answer within {stage.timeout_seconds:g} s") from None


class Stage:
    """One source. Thread-safe."""

    def __init__(
        self,
        name: str,
        label: str,
        rules: BreakerRules,
        timeout_seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[SourceState], None] = lambda _state: None,
    ) -> None:
        self.name = name
        self.label = label
        self.timeout_seconds = timeout_seconds
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
    """The sources of a retrieval and the threads that their calls run in. Thread-safe; close it."""

    def __init__(self, vectors: Stage, full_text: Stage, *, lookups_at_once: int) -> None:
        self.vectors = vectors
        self.full_text = full_text
        self._pool = ThreadPoolExecutor(lookups_at_once + SPARE_THREADS, "kbapp-search")
        self._running: weakref.WeakSet[Future[Any]] = weakref.WeakSet()

    def run(self, stage: Stage, function: Callable[..., T], *arguments: object) -> tuple[T | None, str | None]:
        """Call a source that ends by itself, in this thread: what it returns, or why it does not."""
        ticket = stage.admit()
        return (None, stage.pause()) if ticket is None else stage.settled(ticket, function, *arguments)

    def start(self, stage: Stage, function: Callable[..., T], *arguments: object) -> Call[T]:
        """Begin a call of a source, unless its breaker is open; never raises."""
        ticket = stage.admit()
        if ticket is None:
            return Call(stage, None, None, stage.pause())
        try:
            future = self._pool.submit(function, *arguments)
        except RuntimeError:  # the pool was shut down
            stage.abandon(ticket)
            return Call(stage, None, None, CLOSED)
        self._running.add(future)
        return Call(stage, ticket, future)

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
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait(list(self._running), timeout=CLOSE_SECONDS)
