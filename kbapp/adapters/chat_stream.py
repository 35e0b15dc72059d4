"""A streamed chat completion put together into the message that the same answer is without streaming.

Each line ``data: {…}`` brings a piece: text to append, or parts of tool calls, told apart by their index.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_DATA = "data:"
_END = "[DONE]"


def joined_message(lines: Iterable[str]) -> dict[str, Any]:
    """The message of the first choice.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: the lines are no such stream, or the server says a fault.
    """
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    for line in lines:
        if not line.startswith(_DATA):
            continue  # comments that keep the connection alive, and names of events
        data = line.removeprefix(_DATA).strip()
        if data == _END:
            break
        piece = json.loads(data)
        if "error" in piece:
            raise ValueError(f"the server says {json.dumps(piece['error'], ensure_ascii=False)}")
        for choice in piece["choices"][:1]:
            delta = choice.get("delta") or {}
            text.append(delta.get("content") or "")
            for part in delta.get("tool_calls") or []:
                _append(calls, part)
    return {"content": "".join(text), "tool_calls": [calls[index] for index in sorted(calls)]}


def _append(calls: dict[int, dict[str, Any]], part: dict[str, Any]) -> None:
    """A part names its call by index; the id and the name come once, the arguments in pieces."""
    call = calls.setdefault(int(part.get("index") or 0), {"id": None, "function": {"name": "", "arguments": ""}})
    function = part.get("function") or {}
    call["id"] = part.get("id") or call["id"]
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""
