"""One folder on which processes work until they are killed, and what they acknowledged."""

from __future__ import annotations

import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from kbapp.adapters.milvus_address import read_address
from kbapp.adapters.milvus_engine import ADDRESS_FILE
from tests.crash.chaos_ledger import Fault, Ledger, Tally
from tests.processes.milvus_processes import line_process

ROLES = ("writer", "reader")
EPOCH_KILLS = 50  # then a new folder, whose first processes are killed while they migrate its database
FIRST_KILLS, FIRST_SECONDS = 4, 0.15
SHARES = (0.25, 0.35, 0.4)
MOMENTS = ((0.0, 0.15), (0.15, 1.0), (1.0, 6.0))
AIMED = 0.6  # of the later kills come soon after a change has begun or was acknowledged
AIMED_SECONDS = (0.0, 0.01, 0.1)  # half of them in either range
AIM_FOR_SECONDS = 1.0
ROUNDS_UNCHECKED = (2, 6)
LOOK_SECONDS = 0.005


class Lane:
    """Kills the processes on one folder at random moments; a check that fails raises ``Fault``."""

    def __init__(self, folder: Path, seed: int, stack: ExitStack) -> None:
        self.tally = Tally()
        self._folder = folder
        self._some = random.Random(seed)
        self._stack = stack
        self._lives = 0
        self._servers = {role: stack.enter_context(line_process("chaos_worker")) for role in (*ROLES, "check")}
        self._pids: dict[str, int] = {}

    def run(self, kills: int) -> Iterator[Tally]:
        """Yields after each check; the folder of an epoch without fault is removed."""
        while self.tally.kills < kills:
            yield from self._epoch(min(kills, self.tally.kills + EPOCH_KILLS))

    def _epoch(self, kills: int) -> Iterator[Tally]:
        self._place = self._folder / f"epoch{self.tally.kills:05}"
        self._ledger = Ledger(self._place, self.tally)
        self._prepare()
        first = self.tally.kills + FIRST_KILLS
        while self.tally.kills < kills:
            for _ in range(self._some.randint(*ROUNDS_UNCHECKED)):
                if self.tally.kills < kills:
                    self._round(is_first=self.tally.kills < first)
            self._end_all()
            self._check()
            yield self.tally
        shutil.rmtree(self._place)

    def _prepare(self) -> None:
        self._start("check", "prepare")
        _, version, rows = self._answer("prepared")
        assert isinstance(rows, list)
        self._ledger.settle(self._ledger.found(), rows, [])
        self.tally.acknowledged["databases of a former version" if version else "new databases"] += 1

    def _round(self, *, is_first: bool) -> None:
        roles = ROLES if self._some.random() < 0.8 else (self._some.choice(ROLES),)
        for role in roles:
            if role not in self._pids:
                self._start(role, role)
        self._wait(is_first=is_first)
        owner = read_address(self._place / "state" / ADDRESS_FILE)
        owning = [role for role, pid in self._pids.items() if owner and owner.pid == pid]
        running = sorted(self._pids)
        choice = self._some.random()
        victims = owning if owning and choice < 0.35 else running if choice > 0.75 else [self._some.choice(running)]
        for role in victims:
            self._end(role, signal.SIGKILL)
            self.tally.kills += 1
            self.tally.owners += role in owning
        self.tally.rounds += 1

    def _wait(self, *, is_first: bool) -> None:
        """Until a moment to kill at."""
        if is_first:
            self._listen(self._some.uniform(0, FIRST_SECONDS))
            return
        self._listen(self._some.uniform(*self._some.choices(MOMENTS, SHARES)[0]))
        if self._some.random() < AIMED:
            known, until = self._ledger.moments, time.monotonic() + AIM_FOR_SECONDS
            while self._ledger.moments == known and time.monotonic() < until:
                self._listen(0)
            place = self._some.randrange(2)
            self._listen(self._some.uniform(*AIMED_SECONDS[place : place + 2]))

    def _start(self, role: str, task: str) -> None:
        self._lives += 1
        server = self._servers[role]
        server.send(str(self._place), task, f"{role[0]}{self._lives}", self._some.randrange(2**32))
        words = server.receive()
        assert isinstance(words, list)
        self._pids[role] = words[1]

    def _listen(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            for role in self._pids:
                for words in self._servers[role].said():
                    self._ledger.note(role, words)
            left = until - time.monotonic()
            threading.Event().wait(min(LOOK_SECONDS, max(left, 0.0005)))
            if left <= 0:
                return

    def _end_all(self) -> None:
        """As a person does it, or by a kill."""
        for role in sorted(self._pids):
            is_kill = self._some.random() < 0.5
            self.tally.kills += is_kill
            self._end(role, signal.SIGKILL if is_kill else signal.SIGTERM)

    def _end(self, role: str, number: int) -> None:
        server = self._servers[role]
        server.send(number)
        while (words := _words(server.receive()))[0] != "gone":
            self._ledger.note(role, words)
        del self._pids[role]
        if words[1] not in {0, -number}:
            raise Fault(f"the {role} ended with status {words[1]}")
        self._ledger.gone(role)

    def _check(self) -> None:
        """With no other process; what was found is what is known from now on."""
        found = self._ledger.found()
        self._start("check", "check")
        _, documents, has_damage, calls, marks = self._answer("checked")
        assert isinstance(documents, int)
        assert isinstance(calls, list)
        assert isinstance(marks, list)
        self._ledger.compare(found, documents, calls, marks)
        self.tally.acknowledged["engines that had to be made anew"] += bool(has_damage)

    def _answer(self, word: str) -> list[object]:
        """What the child of ``check`` says, which then ends."""
        server = self._servers["check"]
        words = _words(server.receive())
        server.send(0)
        _words(server.receive())
        del self._pids["check"]
        if words[0] != word:
            raise Fault(f"after a kill: {words[-1]}")
        return words


def _words(answer: object) -> list[object]:
    assert isinstance(answer, list)
    return answer
