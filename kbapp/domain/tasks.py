"""Tasks for executors: JSON lines ``{"id", "goal", "steps": [query, …], "needed": [document, …]}`` into values."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kbapp.domain.errors import UserError

KEYS = ("id", "goal", "steps", "needed")
SHOWN_FAULTS = 10
SHOWN_CHARACTERS = 60


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
    """The tasks of a file, in order; blank lines and further keys are ignored.

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
                raise _Fault(f"the id {_shown(task.id)} is also in line {lines_of_ids[task.id]}")
        except _Fault as fault:
            faults.append(f"line {number}: {fault}")
        else:
            lines_of_ids[task.id] = number
            tasks.append(task)
    if faults:
        raise UserError(f"no task is read: {_listed(faults)}")
    if not tasks:
        raise UserError("the file holds no task: write one JSON object per line with id, goal, steps and needed")
    return tasks


def with_known_documents(tasks: Sequence[Task], documents: Collection[str], base_folder: str) -> list[Task]:
    """The tasks with what they need as paths relative to the knowledge base, each once.

    Raises:
        UserError: a needed document is none of ``documents``; every such one is named with its task.
    """
    known = set(documents)
    faults: list[str] = []
    resolved: list[Task] = []
    for task in tasks:
        paths = {path: _relative(path, known, base_folder) for path in task.needed}
        faults += [f"{_shown(path)} (task {_shown(task.id)})" for path, there in paths.items() if there not in known]
        resolved.append(replace(task, needed=tuple(dict.fromkeys(paths.values()))))
    if faults:
        raise UserError(
            f"the tasks need documents that the knowledge base does not hold: {_listed(faults)};"
            " correct the paths under needed, or name another knowledge base with --root"
        )
    return resolved


def _relative(path: str, known: Collection[str], base_folder: str) -> str:
    path = unicodedata.normalize("NFC", path).removeprefix("./")
    return path if path in known else path.removeprefix(f"{unicodedata.normalize('NFC', base_folder)}/")


def _parse_line(line: str) -> Task:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise _Fault(f"not JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of more digits, or nested deeper than Python takes
        raise _Fault(f"not JSON that can be read ({error})") from error
    if not isinstance(values, dict):
        raise _Fault("not a JSON object")
    missing = [key for key in KEYS if key not in values]
    if missing:
        raise _Fault(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    steps = tuple(_texts(values, "steps"))
    if not steps:
        raise _Fault("steps is empty: a task needs at least one query")
    return Task(_id(values["id"]), _text(values["goal"], "goal"), steps, tuple(_texts(values, "needed")))


def _id(value: object) -> str:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else _text(value, "id")


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


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…")


def _listed(faults: Sequence[str]) -> str:
    rest = len(faults) - SHOWN_FAULTS
    return "; ".join(faults[:SHOWN_FAULTS]) + (f"; and {rest} more" if rest > 0 else "")
