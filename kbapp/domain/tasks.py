"""Tasks for executors: JSON lines ``{"id", "goal", "steps": [query, …], "needed": [document, …]}`` into values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kbapp.domain.errors import UserError

KEYS = ("id", "goal", "steps", "needed")
SHOWN_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Task:
    """What an executor is to do: a plan of queries, and the documents whose text it needs for the goal.

    ``needed`` holds paths relative to the knowledge base, or with its folder in front; no executor sees them.
    """

    id: str
    goal: str
    steps: tuple[str, ...]
    needed: tuple[str, ...]


class _Fault(ValueError):
    """What is wrong with one line."""


def parse_tasks(text: str) -> list[Task]:
    """The tasks of a file, in order; blank lines are ignored.

    Raises:
        UserError: a line is no task, or there is none; every such line is named with its reason.
    """
    tasks: list[Task] = []
    faults: list[str] = []
    lines_of_ids: dict[str, int] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            task = _parse_line(line)
            if task.id in lines_of_ids:
                raise _Fault(f"the id {task.id!r} is also in line {lines_of_ids[task.id]}")
        except _Fault as fault:
            faults.append(f"line {number}: {fault}")
        else:
            lines_of_ids[task.id] = number
            tasks.append(task)
    if faults:
        raise UserError(_sentence(faults))
    if not tasks:
        raise UserError("the file holds no task: write one JSON object per line with id, goal, steps and needed")
    return tasks


def _parse_line(line: str) -> Task:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _Fault(f"not JSON ({str(error) or 'nested too deeply'})") from error
    if not isinstance(values, dict):
        raise _Fault("not a JSON object")
    _check_keys(values)
    steps = tuple(_texts(values, "steps"))
    if not steps:
        raise _Fault("steps is empty: a task needs at least one query")
    return Task(_text(values["id"], "id"), _text(values["goal"], "goal"), steps, tuple(_texts(values, "needed")))


def _check_keys(values: Mapping[str, object]) -> None:
    missing = [key for key in KEYS if key not in values]
    unknown = [key for key in values if key not in KEYS]
    if missing:
        raise _Fault(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if unknown:
        raise _Fault(f"unknown {', '.join(repr(key) for key in unknown)}; a task has {', '.join(KEYS)}")


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Fault(f"{name} is not a text with something in it")
    return value.strip()


def _texts(values: Mapping[str, object], key: str) -> Iterator[str]:
    value = values[key]
    if not isinstance(value, list):
        raise _Fault(f"{key} is not a list")
    for position, text in enumerate(value, start=1):
        yield _text(text, f"{key}[{position}]")


def _sentence(faults: Sequence[str]) -> str:
    shown = "; ".join(faults[:SHOWN_FAULTS])
    rest = len(faults) - SHOWN_FAULTS
    return f"no task is read: {shown}{f'; and {rest} more lines' if rest > 0 else ''}"
