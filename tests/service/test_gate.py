"""At most so many lookups at once; the others wait in order, and are refused when it takes too long."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kbapp.service.gate import Gate
from tests.waiting import wait_until


def test_never_more_than_the_limit_are_inside_and_all_get_in() -> None:
    gate, lock = Gate(3, 60.0), threading.Lock()
    inside: list[int] = []
    most: list[int] = []

    def enter(number: int) -> bool:
        with gate.entered() as is_inside:
            with lock:
                inside.append(number)
                most.append(len(inside))
            with lock:
                inside.remove(number)
            return is_inside

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(enter, range(500)))
    assert max(most) <= 3
    assert not inside


def test_who_waits_longest_is_next() -> None:
    gate, order = Gate(1, 60.0), list[int]()
    leave = threading.Event()

    def hold() -> None:
        with gate.entered():
            leave.wait()

    def enter(number: int) -> None:
        with gate.entered():
            order.append(number)

    holder = threading.Thread(target=hold)
    holder.start()
    wait_until(lambda: not gate.free)
    waiting = []
    for number in range(8):
        waiting.append(threading.Thread(target=enter, args=(number,)))
        waiting[-1].start()
        wait_until(lambda number=number: gate.waiting == number + 1)
    leave.set()
    for thread in (holder, *waiting):
        thread.join()
    assert order == list(range(8))
    assert (gate.free, gate.waiting) == (1, 0)


def test_a_wait_that_is_broken_off_loses_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(1, 60.0)

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    with gate.entered():
        monkeypatch.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt), gate.entered():
            pass
        monkeypatch.undo()
    assert (gate.free, gate.waiting) == (1, 0)


def test_a_place_that_is_not_free_in_time_is_refused_and_none_is_lost() -> None:
    gate = Gate(1, 0.0)
    with gate.entered() as first, gate.entered() as second:
        assert (first, second) == (True, False)
    with gate.entered() as third:
        assert third
    assert (gate.free, gate.waiting) == (1, 0)
