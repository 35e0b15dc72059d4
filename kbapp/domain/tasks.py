"""Tasks for executors: JSON lines ``{"id", "goal", "steps": [query, …], "needed": [document, …]}`` into values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kbapp.domain.errors import UserError
from kbapp.domain.json_lines import SHOWN_FAULTS, LineFault, id_of, parse_lines, relative_path, shown, text_of, texts_of

KEYS = ("id", "goal", "steps", "needed")


@dataclass(frozen=True, slots=True)
class Task:
    """What an executor is to do: a plan of queries, and the documents whose text it needs for the goal.

    ``needed`` holds paths relative to the knowledge base, or with its folder in front; no executor sees them.
    """

    id: str
    goal: str
    steps: tuple[str, ...]
    needed: tuple[str, ...]


def parse_tasks(text: str) -> list[Task]:
    """The tasks of a file, in order; blank lines and further keys are ignored.

    Raises:
        UserError: a line is no task, or there is none; every such line is named with its reason.
    """
    tasks = parse_lines(text, KEYS, _task, refusal="no task is read")
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
        paths = {path: relative_path(path, known, base_folder) for path in task.needed}
        faults += [f"{shown(path)} (task {shown(task.id)})" for path, there in paths.items() if there not in known]
        resolved.append(replace(task, needed=tuple(dict.fromkeys(paths.values()))))
    if faults:
        raise UserError(
            f"the tasks need documents that the knowledge base does not hold: {_listed(faults)};"
            " correct the paths under needed, or name another knowledge base with --root"
        )
    return resolved


def _task(values: Mapping[str, object], _line: int) -> Task:
    steps = texts_of(values["steps"], "steps")
    if not steps:
        raise LineFault("steps is empty: a task needs at least one query")
    needed = texts_of(values["needed"], "needed")
    return Task(id_of(values["id"]), text_of(values["goal"], "goal"), steps, needed)


def _listed(faults: Sequence[str]) -> str:
    rest = len(faults) - SHOWN_FAULTS
    return "; ".join(faults[:SHOWN_FAULTS]) + (f"; and {rest} more" if rest > 0 else "")
