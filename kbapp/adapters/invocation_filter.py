"""A filter of telemetry rows as a WHERE clause over ``tool_invocation``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kbapp.domain.telemetry import InvocationFilter

NEWEST_FIRST = "ORDER BY created_at DESC, rowid DESC"


def where(wanted: InvocationFilter) -> tuple[str, list[str]]:
    """The clause, empty when all rows pass, and the values of its parameters; limit and offset are not in it."""
    conditions: list[str] = []
    values: list[str] = []
    for condition, given in _conditions(wanted):
        conditions.append(condition)
        values += given
    return (f"WHERE {' AND '.join(conditions)}" if conditions else ""), values


def storable(text: str) -> str:
    """Lone surrogates (of a file's name, say) have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _conditions(wanted: InvocationFilter) -> Iterator[tuple[str, Sequence[str]]]:
    if wanted.tool_name is not None:
        yield "tool_name = ?", [wanted.tool_name]
    if wanted.session_id is not None:
        yield "session_id = ?", [storable(wanted.session_id)]
    if wanted.since is not None:
        yield "created_at >= ?", [wanted.since]
    for column, kinds in (("relevance_level", wanted.levels), ("outcome", wanted.outcomes)):
        if kinds:
            # The plus sign: an index of such rows alone would find them in no order of time.
            yield f"+{column} IN ({', '.join('?' * len(kinds))})", [kind.value for kind in kinds]
