"""The commands about what lookups left behind: rows, SQL over them, marks."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import click

from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import Invocation
from kbapp.domain.telemetry import SqlResult, Verdict
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values
from kbapp.surfaces.plain_text import plain

_HEADER = ("id", "time (UTC)", "result", "L0", "L1", "ms", "session", "query")
_LONGEST_SESSION = 20
_LONGEST_CELL = 80
_DEFAULT_LIMIT = 50


@click.command()
@click.option("--session", metavar="ID", help="Only what this conversation asked.")
@click.option("--limit", type=click.IntRange(min=1), default=_DEFAULT_LIMIT, show_default=True, help="At most N rows.")
@click.option("--sql", metavar="SELECT", help="Run this one SELECT on the database instead, read-only.")
@json_option
@pass_options
@click.pass_context
def telemetry(
    ctx: click.Context, options: Options, session: str | None, limit: int, sql: str | None, as_json: bool
) -> None:
    """Show the lookups that were made, newest first."""
    given = click.core.ParameterSource.COMMANDLINE
    if sql is not None and given in (ctx.get_parameter_source("session"), ctx.get_parameter_source("limit")):
        raise click.UsageError("--sql takes the place of --session and --limit: say it in the SELECT")
    with options.open() as kb:
        if sql is None:
            _print_rows(kb, session, limit, as_json=as_json)
        else:
            _print_result(kb.select(sql), as_json=as_json)


@click.command()
@click.argument("invocation_id", metavar="ID")
@click.argument("verdict", type=click.Choice([verdict.value for verdict in Verdict]))
@click.option("--note", metavar="TEXT", default="", help="What was right or wrong.")
@json_option
@pass_options
def feedback(options: Options, invocation_id: str, verdict: str, note: str, as_json: bool) -> None:
    """Say whether the answer to the lookup ID was any good."""
    with options.open() as kb:
        mark = kb.feedback(invocation_id, verdict, note)
    print_values(as_json, mark.to_dict(), lambda: plain(f"noted: {mark.invocation_id} is {mark.verdict}"))


def _print_rows(kb: KnowledgeBase, session: str | None, limit: int, *, as_json: bool) -> None:
    rows = kb.telemetry(session_id=session, limit=limit)
    values: list[JsonValue] = [row.to_dict() for row in rows]
    print_values(as_json, values, lambda: _table(_HEADER, [_cells(row) for row in rows]) if rows else "no rows")


def _print_result(result: SqlResult, *, as_json: bool) -> None:
    if result.truncated:
        click.echo(f"only the first {len(result.rows)} rows: ask for less to see all", err=True)
    rows = [["" if value is None else str(value) for value in row] for row in result.rows]
    print_values(as_json, result.to_dicts(), lambda: _table(result.columns, rows))


def _cells(row: Invocation) -> list[str]:
    session = row.session_id or ""
    return [
        row.id,
        row.created_at[:19].replace("T", " "),
        row.relevance_level or row.outcome,
        str(row.l0_match_count),
        "yes" if row.l1_called else "no",
        f"{row.duration_ms:.1f}",
        session if len(session) <= _LONGEST_SESSION else f"{session[: _LONGEST_SESSION - 1]}…",
        row.query or row.tool_name,
    ]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns for a terminal; the last one is not padded, long cells are cut."""
    lines = [[_cell(text) for text in row] for row in (header, *rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(text: str) -> str:
    one_line = " ".join(plain(text).split())
    return one_line if len(one_line) <= _LONGEST_CELL else f"{one_line[: _LONGEST_CELL - 1]}…"


def _width(text: str) -> int:
    """Columns that a text takes: two for each wide character, such as Chinese ones."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
