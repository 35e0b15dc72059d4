"""What can be asked of the telemetry, and what a person can say about an invocation (T4, T6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum

from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import UserError
from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.relevance import RelevanceLevel

MAX_NOTE_CHARACTERS = 2000


class Verdict(StrEnum):
    """What a person thinks of the answer to an invocation."""

    HELPFUL = "helpful"
    NOT_HELPFUL = "not-helpful"
    WRONG_LEVEL = "wrong-level"


@dataclass(frozen=True, slots=True)
class Feedback:
    """A mark on an invocation; the last one counts."""

    id: str
    invocation_id: str
    verdict: Verdict
    note: str
    created_at: str

    def to_dict(self) -> dict[str, JsonValue]:
        """The columns of ``feedback``."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MarkedCall:
    """An invocation with the mark that counts."""

    mark: Feedback
    call: Invocation


@dataclass(frozen=True, slots=True)
class InvocationFilter:
    """Which rows to show; an empty tuple and None mean all. ``since``: UTC, ISO 8601, inclusive.

    Raises:
        UserError: ``limit`` or ``offset`` is negative.
    """

    session_id: str | None = None
    levels: tuple[RelevanceLevel, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    since: str | None = None
    limit: int = 50
    offset: int = 0
    tool_name: str | None = None

    def __post_init__(self) -> None:
        if self.limit < 0 or self.offset < 0:
            raise UserError(f"limit {self.limit} and offset {self.offset} count rows: they cannot be negative")


SqlValue = str | int | float | None


@dataclass(frozen=True, slots=True)
class SqlResult:
    """What a SELECT gave; ``truncated``: there are more rows than are held here. Bytes are in hex."""

    columns: tuple[str, ...]
    rows: tuple[tuple[SqlValue, ...], ...]
    truncated: bool

    def to_dicts(self) -> list[JsonValue]:
        """One object per row; a second column of the same name becomes ``name:1``."""
        names = tuple(_distinct(self.columns))
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def _distinct(names: tuple[str, ...]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        number, distinct = 0, name
        while distinct in seen:
            number += 1
            distinct = f"{name}:{number}"
        seen.add(distinct)
        yield distinct
