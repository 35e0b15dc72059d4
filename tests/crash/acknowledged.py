"""What must be on disk after processes were killed: what they acknowledged, and no more than what they had begun."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ABSENT = None
Hash = str | None  # SHA-256 of a file's bytes; None: there is no file


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one file between two moments of the monotonic clock, infinity while nobody knows of its end.

    ``values``: one of these holds afterwards; a change that was not acknowledged may also have done nothing.
    """

    began: float
    ended: float
    values: tuple[Hash, ...]
    is_acknowledged: bool


@dataclass(frozen=True, slots=True)
class Move:
    """A rename under way when its process was killed: the bytes are at one of the two places."""

    began: float
    source: str
    target: str
    value: str


@dataclass(slots=True)
class Files:
    """The files of one folder that several processes change at once. Nothing here depends on the product."""

    changes: dict[str, list[Change]] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)

    def note(self, path: str, change: Change) -> None:
        self.changes.setdefault(path, []).append(change)

    def allowed(self, path: str) -> set[Hash]:
        """The values of the changes after which no acknowledged one has begun."""
        changes = self.changes.get(path, [])
        begun = max((change.began for change in changes if change.is_acknowledged), default=-math.inf)
        lasting = {value for change in changes if change.ended > begun for value in change.values}
        return lasting if any(change.is_acknowledged for change in changes) else lasting | {ABSENT}

    def faults(self, found: Mapping[str, str]) -> Iterator[str]:
        """What differs from all that may be there; nobody changes files meanwhile."""
        for path in sorted(self.changes.keys() | found.keys()):
            if found.get(path) not in self.allowed(path):
                yield f"{path} holds {found.get(path)}, not one of {sorted(map(str, self.allowed(path)))}"
        for move in self.moves:
            is_last = all(
                change.began <= move.began for path in (move.source, move.target) for change in self._of(path)
            )
            if is_last and move.value not in (found.get(move.source), found.get(move.target)):
                yield f"{move.value} is lost on its way from {move.source} to {move.target}"

    def settle(self, found: Mapping[str, str]) -> None:
        """From now on what was found is what is known."""
        self.changes = {path: [Change(-math.inf, 0.0, (value,), True)] for path, value in found.items()}
        self.moves = []

    def _of(self, path: str) -> list[Change]:
        return self.changes.get(path, [])


@dataclass(slots=True)
class Rows:
    """Rows of a table that only grows, by id."""

    known: set[str] = field(default_factory=set)
    unanswered: int = 0

    def faults(self, found: list[str], name: str) -> Iterator[str]:
        """A row is lost, there twice, or there without anybody having asked for it."""
        present = set(found)
        if lost := self.known - present:
            yield f"{len(lost)} acknowledged rows of {name} are lost: {sorted(lost)[:5]}"
        if len(present) < len(found):
            yield f"{len(found) - len(present)} rows of {name} are there twice"
        if (others := len(present - self.known)) > self.unanswered:
            yield f"{name} has {others} rows that nobody acknowledged, and {self.unanswered} calls were under way"

    def settle(self, found: list[str]) -> None:
        self.known, self.unanswered = set(found), 0
