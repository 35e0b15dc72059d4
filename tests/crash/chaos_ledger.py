"""What the processes on one folder say that they begin and have done, compared with what is found."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tests.crash.acknowledged import Change, Files, Move, Rows

MAX_REASON = 90


class Fault(AssertionError):
    """Something was lost, is there without cause, or went wrong."""


@dataclass(slots=True)
class Begun:
    """The change that a process has under way."""

    at: float
    values: dict[str, str | None]
    torn: list[str]
    is_move: bool


@dataclass(slots=True)
class Tally:
    """What happened so far."""

    kills: int = 0
    owners: int = 0
    rounds: int = 0
    checks: int = 0
    acknowledged: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.kills + other.kills,
            self.owners + other.owners,
            self.rounds + other.rounds,
            self.checks + other.checks,
            self.acknowledged + other.acknowledged,
            self.refusals + other.refusals,
        )

    def __str__(self) -> str:
        done = ", ".join(f"{count:,} {name}" for name, count in sorted(self.acknowledged.items()))
        killed = f"{self.kills} kills ({self.owners} of the engine's owner) at {self.rounds} moments"
        return f"{killed}; {done}; {self.checks} checks"


class Ledger:
    """The lines of ``tests/processes/chaos_work.py``; what must not be raises ``Fault``."""

    def __init__(self, place: Path, tally: Tally) -> None:
        self.moments = 0  # at which a change began or was acknowledged
        self._root = place / "knowledge_base"
        self._tally = tally
        self._files, self._calls, self._marks = Files(), Rows(), Rows()
        self._begun: dict[str, Begun] = {}

    def found(self) -> dict[str, str]:
        """The hash of each document."""
        files = self._root.rglob("*.md")
        return {str(file.relative_to(self._root)): sha256(file.read_bytes()).hexdigest() for file in files}

    def settle(self, found: dict[str, str], calls: list[str], marks: list[str]) -> None:
        """From now on this is what is known."""
        self._files.settle(found)
        self._calls.settle(calls)
        self._marks.settle(marks)

    def gone(self, role: str) -> None:
        """A process has ended, maybe in the middle of something."""
        self._resolve(role, time.monotonic(), is_acknowledged=False)

    def compare(self, found: dict[str, str], documents: int, calls: list[str], marks: list[str]) -> None:
        """What was found before a check, and what the check said."""
        faults = [
            *self._files.faults(found),
            *self._calls.faults(calls, "tool_invocation"),
            *self._marks.faults(marks, "feedback"),
        ]
        if self.found() != found:
            faults.append("a reconcile has changed a document")
        if documents != len(found):
            faults.append(f"{documents} documents of {len(found)} files")
        if faults:
            raise Fault("\n".join(faults))
        self.settle(found, calls, marks)
        self._tally.checks += 1
        self._tally.acknowledged["checked documents"] += len(found)

    def note(self, role: str, words: object) -> None:  # noqa: C901 - one case per kind of line
        match words:
            case ["begin", float(at), dict(values), list(torn), bool(is_move)]:
                self._begun[role] = Begun(at, values, torn, is_move)
                self.moments += 1
            case ["done", float(at)]:
                self._resolve(role, at, is_acknowledged=True)
                self.moments += 1
                self._tally.acknowledged["changes"] += 1
            case ["refused", float(), str(reason)]:
                del self._begun[role]
                self._tally.refusals[_kind(reason)] += 1
            case ["unsure", float(at), str(reason)]:
                self._resolve(role, at, is_acknowledged=False)
                self._tally.refusals[_kind(reason)] += 1
            case ["asking"]:
                self._calls.unanswered += 1
            case ["answered", str(call), bool(is_kept), degraded]:
                self._answered(call, degraded, is_kept=is_kept)
            case ["marking"]:
                self._marks.unanswered += 1
            case ["marked", str(mark)]:
                self._marks.unanswered -= 1
                self._marks.known.add(mark)
                self._tally.acknowledged["marks"] += 1
            case ["open"]:
                self._tally.acknowledged["starts"] += 1
            case ["failed", str(trace)]:
                raise Fault(f"the {role} met what must not happen:\n{trace}")
            case _:
                raise Fault(f"the {role} says {words}")

    def _answered(self, call: str, degraded: object, *, is_kept: bool) -> None:
        if not is_kept:
            self._tally.acknowledged["rows that the product says it could not keep"] += 1
            return
        self._calls.unanswered -= 1
        self._calls.known.add(call)
        self._tally.acknowledged["lookups"] += 1
        if degraded:
            self._tally.acknowledged["degraded lookups"] += 1
            self._tally.refusals[_kind(str(degraded))] += 1

    def _resolve(self, role: str, ended: float, *, is_acknowledged: bool) -> None:
        begun = self._begun.pop(role, None)
        if begun is None:
            return
        torn = () if is_acknowledged else tuple(begun.torn)
        for path, value in begun.values.items():
            self._files.note(path, Change(begun.at, ended, (value, *torn), is_acknowledged))
        if begun.is_move and not is_acknowledged:
            self._files.moves += _moves(begun)


def _moves(begun: Begun) -> Iterator[Move]:
    gone = [path for path, value in begun.values.items() if value is None]
    come = [(path, value) for path, value in begun.values.items() if value is not None]
    for source, (target, value) in zip(gone, come, strict=True):
        yield Move(begun.at, source, target, value)


def _kind(reason: str) -> str:
    """A reason without what differs each time."""
    return "".join("#" if character.isdigit() else character for character in reason)[:MAX_REASON]
