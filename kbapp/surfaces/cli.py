"""The command ``kbapp``: one method of the knowledge base per command, JSON or text out.

A command's module is imported when it runs: the help of all of them costs nothing but click.
"""

from __future__ import annotations

import difflib
import io
import logging
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click

from kbapp.domain.errors import KbError
from kbapp.surfaces.plain_text import PlainFormatter, plain


@dataclass(frozen=True, slots=True)
class Command:
    """Where a command stands, as ``module:name``, and its help in short."""

    place: str
    short_help: str

    def load(self) -> click.Command:
        """Import it."""
        module, name = self.place.split(":")
        command: click.Command = getattr(import_module(f"kbapp.surfaces.{module}"), name)
        return command


COMMANDS = {
    "app": Command("cli_app:app", "Open the app in the browser."),
    "calibrate": Command("cli_calibrate:calibrate_command", "Make a relevance profile from labelled queries or marks."),
    "chunks": Command("cli_documents:chunks", "Show the chunks of a document."),
    "delete": Command("cli_documents:delete", "Delete a document: its file, and what the indexes hold of it."),
    "doctor": Command("cli_index:doctor", "Check the installation and whether all indexes agree."),
    "documents": Command("cli_documents:documents", "List the documents with their state."),
    "eval": Command("cli_eval:eval_command", "Look labelled queries up and measure what comes out."),
    "export": Command("cli_backup:export", "Back the whole knowledge base up to one file."),
    "feedback": Command("cli_telemetry:feedback", "Say whether the answer to a lookup was any good."),
    "import": Command("cli_backup:import_command", "Restore a knowledge base from a file that `kbapp export` made."),
    "index": Command("cli_index:index", "Bring the indexes in line with the documents."),
    "lookup": Command("cli_lookup:lookup", "Look a query up as an agent does."),
    "mcp": Command("cli_mcp:mcp", "Serve lookup_knowledge to agents over MCP."),
    "prompt": Command("cli_lookup:prompt", "Ask questions one per line, from the keyboard or a pipe."),
    "session": Command("cli_session:session", "Show or clear what a conversation was given."),
    "simulate": Command("cli_simulate:simulate_command", "Run an executor on tasks; count what was asked and given."),
    "telemetry": Command("cli_telemetry:telemetry", "Show the lookups that were made, newest first."),
    "upload": Command("cli_documents:upload", "Store a Markdown file in the knowledge base and index it."),
}


class KbappGroup(click.Group):
    """Finds its commands in ``COMMANDS``; turns our own errors into one line on stderr and exit status 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        return COMMANDS[cmd_name].load() if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A misspelt command is answered with the nearest one; click itself knows only those that are imported."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            nearest = difflib.get_close_matches(name, COMMANDS, n=1)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {nearest[0]!r}?" if nearest else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The help of all commands in short, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.short_help) for name, command in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error of the user never shows a traceback."""
        try:
            return super().invoke(ctx)
        except KbError as error:
            raise click.ClickException(plain(" ".join(str(error).split()))) from error
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
@click.version_option(package_name="kbapp", prog_name="kbapp")
@click.pass_context
def main(ctx: click.Context, root: Path | None, state_dir: Path | None, config: Path | None, verbose: bool) -> None:
    """Look things up in a folder of Markdown documents."""
    _set_up_streams()
    _set_up_logging(verbose=verbose)
    from kbapp.surfaces.cli_options import Options

    ctx.obj = Options(root, state_dir, config)


def _set_up_streams() -> None:
    """A character that a stream's encoding lacks, or bytes that are none, end no command."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _set_up_logging(*, verbose: bool) -> None:
    """Without --verbose the commands themselves say what matters: reports, degraded results, problems."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("kbapp").setLevel(logging.DEBUG if verbose else logging.ERROR)


def _leave_quietly() -> NoReturn:
    """The reader of a pipe is gone: nothing is left to say."""
    sys.stdout = None  # keeps the interpreter from flushing into the closed pipe
    sys.exit(0)
