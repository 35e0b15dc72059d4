"""The commands that look up: one question, or one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from kbapp.domain.errors import UserError
from kbapp.service.lookup import LookupRequest
from kbapp.surfaces import cli_text
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values, refresh
from kbapp.surfaces.plain_text import plain


@click.command()
@click.argument("query")
@click.option("--session", metavar="ID", help="The conversation that asks.")
@click.option("--section", metavar="TITLE", help="Give this section of the document that is found.")
@click.option("--missing-dimension", metavar="TEXT", help="What the earlier results lack.")
@click.option("--force", is_flag=True, help="Give content again that this session was given.")
@click.option("--explain", is_flag=True, help="Show what the executor does not see: matches, distances, thresholds.")
@json_option
@pass_options
def lookup(
    options: Options,
    query: str,
    session: str | None,
    section: str | None,
    missing_dimension: str | None,
    force: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Look QUERY up as an agent does."""
    with options.open() as kb:
        options.say_if_empty(refresh(kb))
        result, invocation = kb.explained_lookup(LookupRequest(query, session, section, missing_dimension, force))
    values = result.to_dict() | ({"explain": invocation.to_dict()} if explain else {})
    print_values(as_json, values, lambda: cli_text.lookup_text(result, invocation if explain else None))


@click.command()
@pass_options
def prompt(options: Options) -> None:
    """Ask questions one per line, from the keyboard or a pipe; an empty line at the keyboard ends."""
    with options.open() as kb:
        options.say_if_empty(refresh(kb))
        for query in _questions():
            refresh(kb)
            try:
                result = kb.lookup(query)
            except UserError as error:
                click.echo(plain(str(error)))
                continue
            click.echo(f"? {plain(query)}\n{cli_text.lookup_text(result, None)}\n")


def _questions() -> Iterator[str]:
    if sys.stdin is None:
        return
    if not sys.stdin.isatty():
        yield from (line for line in (raw.strip() for raw in sys.stdin) if line)
        return
    while True:
        try:
            query = input("lookup> ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if not query:
            return
        yield query
