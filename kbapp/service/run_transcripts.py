"""Runs of a task as one JSON value, or as Markdown for people: what was asked, what was given, what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kbapp.domain.documents import JsonValue
from kbapp.domain.session_transcript import call_lines, inline, session_to_dict
from kbapp.domain.transcript import SkippedStep
from kbapp.service.observed_run import ObservedRun, Way

_TITLES = {
    Way.WITHOUT_MEMORY: "Every step, without a memory",
    Way.UNCONSTRAINED: "Every step, with the action memory",
    Way.CONSTRAINED: "Constrained executor, with the action memory",
    Way.LLM: "Language model, with the action memory",
}


def runs_to_dict(runs: Sequence[ObservedRun]) -> dict[str, JsonValue]:
    """Each run with its figures, its entries, and the telemetry rows of its calls, in order."""
    return {"runs": [run.to_dict() | {"telemetry": _rows(run)} for run in runs]}


def runs_to_markdown(runs: Sequence[ObservedRun]) -> str:
    """A heading per run, and below it one per step; all runs are of the same task."""
    task = runs[0].task
    lines = [f"# Task {inline(task.id)}", "", *_quoted(task.goal), "", f"Domain policy: {runs[0].policy.value}", ""]
    for run in runs:
        lines += [f"## {_TITLES[run.way]}", "", *_figures(run), "", *_entries(run)]
        if run.fault:
            lines += [f"Ended early: {inline(run.fault)}", ""]
        if run.outcome.transcript.answer:
            lines += ["### Answer", "", *_quoted(run.outcome.transcript.answer), ""]
    return "\n".join(lines).rstrip() + "\n"


def _rows(run: ObservedRun) -> JsonValue:
    rows = [row for entry in run.entries if (row := run.row_of(entry))]
    return session_to_dict(run.session_id or "", rows)["calls"]


def _figures(run: ObservedRun) -> list[str]:
    figures = run.figures()
    calls = f"- calls: {figures.calls}" + (f" of {figures.steps} steps" if figures.steps else "")
    given = (
        f"- characters given: {figures.characters_given:,}, of them given before: {figures.characters_given_twice:,}"
    )
    lines = [f"- session: {inline(run.session_id) if run.session_id else 'none'}", calls, given]
    if figures.needed:
        lines.append(f"- needed documents given: {figures.needed_covered} of {figures.needed}")
    return lines + [f"- not given: {inline(path)}" for path in run.outcome.not_covered]


def _entries(run: ObservedRun) -> Iterator[str]:
    for number, entry in enumerate(run.entries, start=1):
        yield f"### {number}. {inline(entry.query)}"
        yield ""
        row = run.row_of(entry)
        if row:
            yield from call_lines(row)
        elif isinstance(entry, SkippedStep):
            yield f"- not looked up: {inline(entry.reason)}"
            yield ""


def _quoted(text: str) -> list[str]:
    return [f"> {line}".rstrip() for line in text.split("\n")]
