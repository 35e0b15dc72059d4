"""The calls of a session as one JSON value, or as Markdown for people; from the telemetry rows alone (T7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kbapp.domain.documents import JsonValue
from kbapp.domain.explanation import explain
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation
from kbapp.domain.lookup_result import LookupResult, parse_result


def session_to_dict(session_id: str, calls: Sequence[Invocation]) -> dict[str, JsonValue]:
    """The rows in order, each with the decision in a sentence."""
    return {
        "session": session_id,
        "calls": [call.to_dict() | {"decision": explain(call).decision} for call in calls],
    }


def session_to_markdown(session_id: str, calls: Sequence[Invocation]) -> str:
    """A heading per call: what was asked, the level and why, what was given, quoted."""
    lines = [f"# Session {inline(session_id)}", ""]
    number = 0
    for call in calls:
        if call.tool_name == CLEAR_TOOL_NAME:
            lines += [f"*{call.created_at}: the session was cleared.*", ""]
            continue
        number += 1
        lines += [f"## {number}. {inline(call.query)}", "", *call_lines(call)]
    return "\n".join(lines).rstrip() + "\n"


def call_lines(call: Invocation) -> Iterator[str]:
    """What stands below the heading of a call; ends with a blank line."""
    result = parse_result(call.retrieval_details.get("result"))
    yield f"- {call.created_at} · {call.duration_ms:.1f} ms · `{call.id}`"
    for name, value in (("section", call.section_title), ("missing dimension", call.missing_dimension)):
        if value:
            yield f"- {name}: {inline(value)}"
    yield f"- {inline(explain(call).decision)}"
    if result:
        yield from _result_lines(result)
    yield ""


def _result_lines(result: LookupResult) -> Iterator[str]:
    for text in (result.completeness_hint, result.message, result.degraded):
        if text:
            yield f"- {inline(text)}"
    if result.retrieved_domains:
        yield f"- retrieved domains: {', '.join(map(inline, result.retrieved_domains))}"
    for part in (result.primary, result.supplement):
        if part and part.content:
            yield ""
            yield f"**{inline(part.title)}** ({inline(part.source)})"
            yield ""
            yield from (f"> {line}".rstrip() for line in part.content.split("\n"))


def inline(text: str) -> str:
    """On one line; what Markdown would read as a sign is escaped."""
    escaped = "".join(f"\\{character}" if character in "\\`*_[]<>#|" else character for character in text)
    return " ".join(escaped.split())
