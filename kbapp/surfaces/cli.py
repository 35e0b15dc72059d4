"""The command ``kbapp``: one method of the knowledge base per command, JSON or text out."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

import click

from kbapp.domain.errors import KbError, UserError
from kbapp.service.lookup import LookupRequest
from kbapp.surfaces import (
    cli_calibrate,
    cli_documents,
    cli_eval,
    cli_mcp,
    cli_server_copy,
    cli_session,
    cli_simulate,
    cli_telemetry,
    cli_text,
)
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values, refresh
from kbapp.surfaces.progress import ProgressLine


class KbappGroup(click.Group):
    """Turns our own errors into one line on stderr and exit status 1."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error of the user never shows a traceback."""
        try:
            return super().invoke(ctx)
        except KbError as error:
            raise click.ClickException(cli_text.plain(" ".join(str(error).split()))) from error
        except BrokenPipeError:
            _leave_quietly()
        except OSError as error:
            raise click.ClickException(f"the output cannot be written: {error.strerror or error}") from error


@click.group(cls=KbappGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--root", type=click.Path(path_type=Path), help="Folder of the documents (knowledge.base-path).")
@click.option(
    "--state-dir", type=click.Path(path_type=Path), help="Folder of the database and the vectors (state-dir)."
)
@click.option("--config", type=click.Path(path_type=Path), help="Settings file; default kbapp.yaml when there is one.")
@click.option("--verbose", "-v", is_flag=True, help="Show on stderr how each lookup was decided.")
@click.version_option(version("kbapp"), prog_name="kbapp")
@click.pass_context
def main(ctx: click.Context, root: Path | None, state_dir: Path | None, config: Path | None, verbose: bool) -> None:
    """Look things up in a folder of Markdown documents."""
    _set_up_streams()
    _set_up_logging(verbose=verbose)
    ctx.obj = Options(root, state_dir, config)


@main.command()
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
    if not report.documents:
        click.echo(_no_documents(options), err=True)
    print_values(as_json, cli_text.index_values(report), lambda: cli_text.index_text(report))


@main.command()
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
        refresh(kb)
        result, invocation = kb.explained_lookup(LookupRequest(query, session, section, missing_dimension, force))
    values = result.to_dict() | ({"explain": invocation.to_dict()} if explain else {})
    print_values(as_json, values, lambda: cli_text.lookup_text(result, invocation if explain else None))


@main.command()
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


@main.command()
@pass_options
def prompt(options: Options) -> None:
    """Ask questions one per line, from the keyboard or a pipe; an empty line at the keyboard ends."""
    with options.open() as kb:
        refresh(kb)
        for query in _questions():
            refresh(kb)
            try:
                result = kb.lookup(query)
            except UserError as error:
                click.echo(cli_text.plain(str(error)))
                continue
            click.echo(f"? {cli_text.plain(query)}\n{cli_text.lookup_text(result, None)}\n")


@main.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1; default 8501, or the next free one.")
@click.option("--no-browser", is_flag=True, help="Open no browser window.")
@pass_options
def app(options: Options, port: int | None, no_browser: bool) -> None:
    """Open the app in the browser."""
    from kbapp.surfaces.app_launcher import ServerOptions, launch

    server = ServerOptions(port, opens_browser=not no_browser)
    launch(options.settings(), options.config, server, may_copy_sample=options.root is None)


main.add_command(cli_session.session)
main.add_command(cli_documents.documents)
main.add_command(cli_documents.chunks)
main.add_command(cli_documents.upload)
main.add_command(cli_documents.delete)
main.add_command(cli_telemetry.telemetry)
main.add_command(cli_telemetry.feedback)
main.add_command(cli_simulate.simulate_command)
main.add_command(cli_eval.eval_command)
main.add_command(cli_calibrate.calibrate_command)
main.add_command(cli_mcp.mcp)


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


def _no_documents(options: Options) -> str:
    return f"{options.settings().base_folder} holds no .md file: put one there, or name another folder with --root"


def _set_up_streams() -> None:
    """A character that a stream's encoding lacks, or bytes that are none, end no command."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _set_up_logging(*, verbose: bool) -> None:
    """Without --verbose the commands themselves say what matters: reports, degraded results, problems."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s", force=True)
    logging.getLogger("kbapp").setLevel(logging.DEBUG if verbose else logging.ERROR)


def _leave_quietly() -> NoReturn:
    """The reader of a pipe is gone: nothing is left to say."""
    sys.stdout = None  # keeps the interpreter from flushing into the closed pipe
    sys.exit(0)
