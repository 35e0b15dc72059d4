"""The command ``simulate``: tasks through an executor, and what they cost and brought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from kbapp.bootstrap import open_executor, open_knowledge_base
from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.encodings import decode_markdown
from kbapp.domain.errors import UserError
from kbapp.domain.simulation_metrics import SimulationMetrics
from kbapp.domain.tasks import Task, parse_tasks
from kbapp.domain.transcript import ExecutorKind
from kbapp.service.simulation import Shelf, SimulationReport, TaskOutcome, simulate
from kbapp.settings import Settings
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values, refresh
from kbapp.surfaces.plain_text import plain

_HEADER = ("calls", "with content", "blocked", "covered", "characters", "given twice")


@click.command(name="simulate")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--executor",
    type=click.Choice([kind.value for kind in ExecutorKind]),
    default=ExecutorKind.CONSTRAINED.value,
    show_default=True,
    help="Who works through the tasks.",
)
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in DomainPolicy]),
    help="What happens when a domain is asked for again (default: retrieval.dedup.domain-policy).",
)
@json_option
@pass_options
def simulate_command(options: Options, file: Path, executor: str, policy: str | None, as_json: bool) -> None:
    """Run the tasks of FILE (JSON lines of id, goal, steps, needed) and count what was asked and given."""
    tasks = _read(file)
    settings = _with_policy(options.settings(), policy)
    with open_knowledge_base(settings) as kb:
        worker = open_executor(ExecutorKind(executor), kb, settings)
        refresh(kb, with_levels=True)
        shelf = Shelf(kb.base_folder, {record.path for record in kb.documents()})
        report = simulate(tasks, worker, shelf, _progress(len(tasks)))
    print_values(as_json, report.to_dict(), lambda: plain(_text(report)))


def _read(file: Path) -> list[Task]:
    try:
        return parse_tasks(decode_markdown(file.read_bytes()))
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): name a file with one task per line") from error
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


def _with_policy(settings: Settings, policy: str | None) -> Settings:
    if policy is None:
        return settings
    dedup = settings.retrieval.dedup.model_copy(update={"domain_policy": policy})
    return settings.model_copy(update={"retrieval": settings.retrieval.model_copy(update={"dedup": dedup})})


def _progress(count: int) -> Callable[[TaskOutcome], None]:
    done = 0

    def show(outcome: TaskOutcome) -> None:
        nonlocal done
        done += 1
        click.echo(plain(f"task {done} of {count}: {_one_line(outcome.task.id)}"), err=True)

    return show


def _text(report: SimulationReport) -> str:
    """A table with a row per task, the names last since they are of any width, and what was not covered."""
    rows = [(_one_line(outcome.task.id), outcome.metrics) for outcome in report.outcomes]
    table = [(*_HEADER, "task")] + [(*_cells(metrics), name) for name, metrics in [*rows, ("total", report.total)]]
    missed = [
        f"{_one_line(outcome.task.id)} was not given {path}"
        for outcome in report.outcomes
        for path in outcome.not_covered
    ]
    return "\n".join([*_lines(table), *missed])


def _lines(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join([cell.rjust(width) for cell, width in zip(cells, widths, strict=False)] + [name])
        for *cells, name in table
    ]


def _cells(metrics: SimulationMetrics) -> tuple[str, ...]:
    return (
        f"{metrics.calls} of {metrics.steps}",
        str(metrics.calls_with_content),
        str(sum(metrics.repeats_blocked.values())),
        f"{metrics.needed_covered} of {metrics.needed}",
        f"{metrics.characters_given:,}",
        f"{metrics.characters_given_twice:,}",
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
