"""X9: the breaker's state machine, by its laws."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.circuit_breaker import (
    SLOTS,
    Breaker,
    BreakerKind,
    BreakerRules,
    abandon,
    admit,
    force,
    recent,
    release,
    seconds_to_probe,
    settle,
)

RULES = BreakerRules(failure_share=0.3, min_calls=5, window_seconds=120, open_seconds=30, probes=2)


def called(breaker: Breaker, now: float, failure: str | None = None) -> Breaker:
    breaker, ticket = admit(breaker, RULES, now)
    assert ticket is not None
    return settle(breaker, RULES, ticket, now=now, failure=failure)


def opened(now: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(RULES.min_calls):
        breaker = called(breaker, now, "it is down")
    assert breaker.kind is BreakerKind.OPEN
    return breaker


def test_x9_it_opens_when_more_than_the_share_of_enough_calls_fail() -> None:
    breaker = Breaker()
    for failure in (None, None, None, None, None, None, None, "down", "down", "down"):
        breaker = called(breaker, 1.0, failure)
        assert breaker.kind is BreakerKind.CLOSED, "three of ten are not more than 30 %"
    breaker = called(breaker, 1.0, "still down")
    assert (breaker.kind, breaker.reason) == (BreakerKind.OPEN, "still down")
    assert (breaker.calls, breaker.failures) == (11, 4)


def test_x9_few_calls_do_not_open_it() -> None:
    breaker = Breaker()
    for _ in range(RULES.min_calls - 1):
        breaker = called(breaker, 0.0, "down")
    assert breaker.kind is BreakerKind.CLOSED


def test_x9_what_failed_before_the_window_does_not_count() -> None:
    breaker = Breaker()
    for _ in range(RULES.min_calls - 1):
        breaker = called(breaker, 0.0, "down")
    breaker = called(breaker, RULES.window_seconds, "down")
    assert (breaker.kind, breaker.calls) == (BreakerKind.CLOSED, 1)


def test_x9_what_is_shown_are_the_calls_of_the_window_also_when_none_came_since() -> None:
    breaker = called(called(Breaker(), 0.0), 0.0, "down")
    assert recent(breaker, RULES, 60.0).calls == 2
    assert recent(breaker, RULES, 2 * RULES.window_seconds).calls == 0


def test_x9_an_open_one_admits_nothing_and_then_one_probe_at_a_time() -> None:
    breaker = opened(now=100.0)
    assert admit(breaker, RULES, 129.9)[1] is None
    assert seconds_to_probe(breaker, RULES, 110.0) == 20.0
    breaker, ticket = admit(breaker, RULES, 130.0)
    assert breaker.kind is BreakerKind.HALF_OPEN
    assert ticket is not None
    assert admit(breaker, RULES, 131.0)[1] is None


def test_x9_so_many_probes_in_a_row_close_it_and_nothing_is_held_against_it() -> None:
    breaker = called(opened(), 30.0)
    assert breaker.kind is BreakerKind.HALF_OPEN
    breaker = called(breaker, 31.0)
    assert (breaker.kind, breaker.calls, breaker.reason) == (BreakerKind.CLOSED, 0, "")


def test_x9_a_probe_that_fails_opens_it_for_another_while() -> None:
    breaker = called(called(opened(), 30.0), 31.0, "down again")
    assert (breaker.kind, breaker.since, breaker.reason) == (BreakerKind.OPEN, 31.0, "down again")
    assert admit(breaker, RULES, 60.9)[1] is None
    assert called(breaker, 61.0).successes == 1


def test_x9_a_late_success_does_not_close_an_open_one_nor_count_as_a_probe() -> None:
    before, early = admit(Breaker(), RULES, 0.0)
    assert early is not None
    open_now = opened()
    assert settle(open_now, RULES, early, now=5.0) == open_now
    probing, _ = admit(open_now, RULES, 30.0)
    assert settle(probing, RULES, early, now=31.0) == probing
    assert before == Breaker()


def test_x9_bad_requests_neither_open_it_nor_decide_a_probe() -> None:
    breaker = Breaker()
    for _ in range(100):
        breaker, ticket = admit(breaker, RULES, 0.0)
        assert ticket is not None
        breaker = abandon(breaker, ticket)
    assert breaker == Breaker()
    probing, ticket = admit(opened(), RULES, 30.0)
    assert ticket is not None
    freed = abandon(probing, ticket)
    assert (freed.kind, freed.successes) == (BreakerKind.HALF_OPEN, 0)
    assert admit(freed, RULES, 30.0)[1] is not None


def test_x9_a_probe_whose_outcome_never_comes_does_not_block_it_for_ever() -> None:
    probing, lost = admit(opened(), RULES, 30.0)
    assert lost is not None
    assert admit(probing, RULES, 59.9)[1] is None
    again, ticket = admit(probing, RULES, 60.0)
    assert ticket is not None
    assert settle(again, RULES, lost, now=61.0, failure="late") == again


def test_x9_one_opened_by_hand_stays_open_until_it_is_closed_by_hand() -> None:
    forced = force(Breaker(), now=0.0, reason="demonstration")
    assert admit(forced, RULES, 1e9)[1] is None
    assert seconds_to_probe(forced, RULES, 1e9) is None
    free = release(forced, now=5.0)
    assert (free.kind, free.is_forced, free.calls) == (BreakerKind.CLOSED, False, 0)
    assert admit(free, RULES, 5.0)[1] is not None


@dataclass(frozen=True)
class Step:
    """Some time passes, a call is begun, or one of those under way ends."""

    seconds: float
    kind: str
    which: int


STEPS = st.lists(
    st.builds(
        Step,
        st.floats(0, 45, allow_nan=False),
        st.sampled_from(["begin", "begin", "succeed", "fail", "fail", "abandon"]),
        st.integers(0, 5),
    ),
    max_size=120,
)


def taken(breaker: Breaker, step: Step, now: float, under_way: list[int]) -> Breaker:
    """The breaker after a step; calls are begun and ended in ``under_way``."""
    if step.kind == "begin":
        after, ticket = admit(breaker, RULES, now)
        if ticket is not None:
            under_way.append(ticket)
        if breaker.kind is BreakerKind.OPEN:
            assert (ticket is None) == (now - breaker.since < RULES.open_seconds)
        assert ticket is not None or breaker.kind is not BreakerKind.CLOSED
        return after
    if not under_way:
        return breaker
    ticket = under_way.pop(step.which % len(under_way))
    if step.kind == "abandon":
        after = abandon(breaker, ticket)
    else:
        after = settle(breaker, RULES, ticket, now=now, failure="x" if step.kind == "fail" else None)
    assert ticket == breaker.generation or after == breaker, "a late outcome changes nothing"
    return after


@given(STEPS)
def test_x9_whatever_happens_the_laws_hold(steps: list[Step]) -> None:
    breaker, now = Breaker(), 0.0
    under_way: list[int] = []
    for step in steps:
        now += step.seconds
        before, breaker = breaker, taken(breaker, step, now, under_way)
        if breaker.kind is not before.kind:
            assert (breaker.generation > before.generation, breaker.since) == (True, now)
        assert (breaker.kind, before.kind) != (BreakerKind.CLOSED, BreakerKind.OPEN), "never without a probe"
        assert len(breaker.counts) <= SLOTS
        assert breaker.probing_since is None or breaker.kind is BreakerKind.HALF_OPEN


@given(st.lists(st.tuples(st.floats(0, 20, allow_nan=False), st.booleans()), max_size=60))
def test_x9_the_window_counts_what_a_walk_over_all_calls_counts(calls: list[tuple[float, bool]]) -> None:
    rules, breaker, now = replace(RULES, min_calls=10**6), Breaker(), 0.0
    slot_seconds = rules.window_seconds / SLOTS
    ended: list[tuple[int, bool]] = []
    for seconds, has_failed in calls:
        now += seconds
        breaker = settle(breaker, rules, breaker.generation, now=now, failure="x" if has_failed else None)
        ended.append((int(now // slot_seconds), has_failed))
    recent = [has_failed for slot, has_failed in ended if slot > ended[-1][0] - SLOTS] if ended else []
    assert (breaker.calls, breaker.failures) == (len(recent), sum(recent))
