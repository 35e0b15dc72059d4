"""A circuit breaker as a pure state machine (X9): no clock, no lock, no thread.

CLOSED counts what fails. Too large a share of failures opens it: OPEN admits nothing for a while. Then one probe at a
time is admitted (HALF_OPEN): enough successes in a row close it, a failure opens it again.

Every change of the kind makes a new generation. An outcome of a call that was admitted by a former one comes late and
changes nothing: a call that began before the outage says nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

SLOTS = 12  # of the window: outcomes are forgotten a twelfth of it at a time


class BreakerKind(StrEnum):
    """Whether calls are admitted."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """When it opens and closes; durations in seconds.

    It opens when more than ``failure_share`` (0 … 1) of at least ``min_calls`` calls within ``window_seconds`` failed.
    """

    failure_share: float = 0.3
    min_calls: int = 5
    window_seconds: float = 120.0
    open_seconds: float = 30.0
    probes: int = 2


@dataclass(frozen=True, slots=True)
class SlotCount:
    """The calls that ended in one slot of time; slots are numbered from the clock's zero."""

    slot: int
    calls: int
    failures: int


@dataclass(frozen=True, slots=True)
class Breaker:
    """The state, ``since`` a moment of the caller's clock; ``reason``: of the failure that opened it.

    ``probing_since``: the one probe that is under way; ``successes``: of probes, in a row.
    """

    kind: BreakerKind = BreakerKind.CLOSED
    since: float = 0.0
    generation: int = 0
    counts: tuple[SlotCount, ...] = ()
    successes: int = 0
    probing_since: float | None = None
    reason: str = ""
    is_forced: bool = False

    @property
    def calls(self) -> int:
        """How many ended within the window, as of the last one."""
        return sum(count.calls for count in self.counts)

    @property
    def failures(self) -> int:
        """How many of these failed."""
        return sum(count.failures for count in self.counts)


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source of the retrieval behind its breaker, as people are shown it.

    ``since``: when it became so, seconds since the epoch; ``calls`` and ``failures``: within the window;
    ``retry_seconds``: to the next probe; ``pid``: of the process whose breaker it is.
    """

    name: str
    label: str
    kind: BreakerKind
    since: float
    calls: int
    failures: int
    reason: str
    retry_seconds: float | None
    is_forced: bool
    pid: int


def admit(breaker: Breaker, rules: BreakerRules, now: float) -> tuple[Breaker, int | None]:
    """Whether a call may be made now: its ticket, which ``settle`` or ``abandon`` takes back; None: it may not."""
    if breaker.kind is BreakerKind.CLOSED:
        return breaker, breaker.generation
    if breaker.is_forced or now - _wait_since(breaker) < rules.open_seconds:
        # A probe whose outcome never came is forgotten as well after ``open_seconds``.
        return breaker, None
    generation = breaker.generation + 1
    probing = replace(breaker, kind=BreakerKind.HALF_OPEN, generation=generation, probing_since=now)
    if breaker.kind is BreakerKind.OPEN:
        probing = replace(probing, since=now, successes=0)
    return probing, generation


def settle(breaker: Breaker, rules: BreakerRules, ticket: int, *, now: float, failure: str | None = None) -> Breaker:
    """The outcome of an admitted call: it succeeded, or failed for a reason."""
    if ticket != breaker.generation:
        return breaker
    if breaker.kind is BreakerKind.HALF_OPEN:
        return _settle_probe(breaker, rules, now, failure)
    counted = replace(breaker, counts=_counted(breaker.counts, rules, now, has_failed=failure is not None))
    is_too_many = counted.failures > rules.failure_share * counted.calls
    if failure is not None and counted.calls >= rules.min_calls and is_too_many:
        return _opened(counted, now, failure)
    return counted


def abandon(breaker: Breaker, ticket: int) -> Breaker:
    """An admitted call that says nothing about the source: the request was bad."""
    if ticket != breaker.generation or breaker.kind is not BreakerKind.HALF_OPEN:
        return breaker
    return replace(breaker, probing_since=None)


def force(breaker: Breaker, *, now: float, reason: str) -> Breaker:
    """Open until ``release``: nothing is admitted."""
    return replace(_opened(breaker, now, reason), is_forced=True)


def release(breaker: Breaker, *, now: float) -> Breaker:
    """Closed, with nothing counted."""
    return Breaker(since=now, generation=breaker.generation + 1)


def recent(breaker: Breaker, rules: BreakerRules, now: float) -> Breaker:
    """The same, with nothing counted that ended before the window."""
    slot = int(now // (rules.window_seconds / SLOTS))
    return replace(breaker, counts=tuple(count for count in breaker.counts if count.slot > slot - SLOTS))


def seconds_to_probe(breaker: Breaker, rules: BreakerRules, now: float) -> float | None:
    """How long nothing is admitted; None: it is closed, or it was opened by hand."""
    if breaker.kind is BreakerKind.CLOSED or breaker.is_forced:
        return None
    return max(0.0, rules.open_seconds - (now - _wait_since(breaker)))


def _settle_probe(breaker: Breaker, rules: BreakerRules, now: float, failure: str | None) -> Breaker:
    if failure is not None:
        return _opened(breaker, now, failure)
    if breaker.successes + 1 >= rules.probes:
        return release(breaker, now=now)
    return replace(breaker, successes=breaker.successes + 1, probing_since=None)


def _opened(breaker: Breaker, now: float, reason: str) -> Breaker:
    return Breaker(BreakerKind.OPEN, now, breaker.generation + 1, breaker.counts, reason=reason)


def _wait_since(breaker: Breaker) -> float:
    """From when ``open_seconds`` are to pass; half open without a probe it is over."""
    if breaker.kind is BreakerKind.OPEN:
        return breaker.since
    return float("-inf") if breaker.probing_since is None else breaker.probing_since


def _counted(
    counts: tuple[SlotCount, ...], rules: BreakerRules, now: float, *, has_failed: bool
) -> tuple[SlotCount, ...]:
    slot = int(now // (rules.window_seconds / SLOTS))
    kept = tuple(count for count in counts if slot - SLOTS < count.slot < slot)
    current = next((count for count in counts if count.slot == slot), SlotCount(slot, 0, 0))
    return (*kept, SlotCount(slot, current.calls + 1, current.failures + has_failed))
