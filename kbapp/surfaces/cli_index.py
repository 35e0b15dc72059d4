"""The commands that bring the indexes in line with the documents, and check whether they are."""

from __future__ import annotations

import click

from kbapp.surfaces import cli_server_copy, cli_text
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values
from kbapp.surfaces.progress import ProgressLine


@click.command()
@click.option(
    "--to", "uri", metavar="URI", help="Instead, copy what is indexed to the Milvus server at http(s)://HOST:PORT."
)
@json_option
@pass_options
def index(options: Options, uri: str | None, as_json: bool) -> None:
    """Bring the indexes in line with the documents."""
    if uri is not None:
        cli_server_copy.copy_to_server(options, uri, as_json=as_json)
        return
    with options.open() as kb, ProgressLine("indexing") as progress:
        report = kb.reindex(progress.show)
    options.say_if_empty(report)
    print_values(as_json, cli_text.index_values(report), lambda: cli_text.index_text(report))


@click.command()
@click.option("--prune", is_flag=True, help="Delete cached vectors that no document uses any more.")
@json_option
@pass_options
def doctor(options: Options, prune: bool, as_json: bool) -> None:
    """Check the installation and whether all indexes agree."""
    with options.open() as kb:
        pruned = kb.prune_cache() if prune else None
        health = kb.health()
    values = health.to_dict() | ({} if pruned is None else {"pruned": pruned})
    text = "" if pruned is None else f"{pruned} cached vectors deleted\n"
    print_values(as_json, values, lambda: text + cli_text.health_text(health))
