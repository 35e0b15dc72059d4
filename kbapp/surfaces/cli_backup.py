"""The commands that write a knowledge base to one file, and put such a file in force."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from kbapp.bootstrap import import_archive
from kbapp.domain.backup_reports import DatabaseFacts, ExportReport, ImportReport
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values
from kbapp.surfaces.plain_text import plain


@click.command(
    epilog="The app and agents may go on meanwhile. The file is read back and checked before it gets its name, and is"
    " for you alone (mode 0600): it holds your documents and what people asked. `kbapp import` restores it."
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.tar.gz")
@click.option(
    "--vectors/--no-vectors",
    default=True,
    show_default=True,
    help="Keep what was embedded (1.5 KB a chunk): a restored copy embeds nothing again.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.tar.gz.")
@json_option
@pass_options
def export(options: Options, file: Path, vectors: bool, force: bool, as_json: bool) -> None:
    """Back the whole knowledge base up to FILE.tar.gz: documents, telemetry, feedback, settings without secrets."""
    with options.open() as kb:
        report = kb.export(file, vectors=vectors, force=force)
    print_values(as_json, report.to_dict(), lambda: plain("\n".join(_export_lines(report))))


@click.command(
    "import",
    epilog="It goes to the folders in force (--root, --state-dir), which must be empty unless --replace is given,"
    " while no app, agent or other command has them open. All of the file is checked before anything changes."
    " `kbapp index` comes next.",
)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.tar.gz")
@click.option(
    "--replace", is_flag=True, help="Take the place of what is here, which is kept as an archive in the state folder."
)
@json_option
@pass_options
def import_command(options: Options, file: Path, replace: bool, as_json: bool) -> None:
    """Restore a knowledge base from FILE.tar.gz, which `kbapp export` made."""
    report = import_archive(file, options.settings(), replace=replace)
    print_values(as_json, report.to_dict(), lambda: plain("\n".join(_import_lines(report))))


def _export_lines(report: ExportReport) -> Iterator[str]:
    yield f"exported to {report.file} ({report.size_bytes:,} bytes), read back and checked in {report.seconds:.1f} s"
    yield from _figures(report.documents, report.database)
    if report.has_settings or report.secrets:
        yield "settings: the values of the settings file, without its comments; no environment variables"
    if report.secrets:
        yield f"left out as secret: {', '.join(report.secrets)}"
    yield from (f"left out: {problem.path}: {problem.error}" for problem in report.left_out)


def _import_lines(report: ImportReport) -> Iterator[str]:
    yield f"imported {report.file} in {report.seconds:.1f} s"
    yield from _figures(report.documents, report.database)
    if report.migrated_from:
        yield f"the database was migrated from schema {report.migrated_from}"
    yield from (f"what was here before is kept as {file}" for file in report.kept)
    if report.settings:
        yield f"settings written to {report.settings_file}: {', '.join(report.settings)}; set secrets anew"
    if report.other_settings:
        yield (
            f"{report.settings_file} stays as it is; other values in the archive: {', '.join(report.other_settings)}"
            f" (`tar xzOf {report.file} kbapp.yaml` shows them)"
        )
    yield "run `kbapp index` next: it makes the vectors ready for search"


def _figures(documents: int, facts: DatabaseFacts | None) -> Iterator[str]:
    if facts is None:
        yield f"{documents} documents, no database"
        return
    yield (
        f"{documents} documents, {facts.telemetry} telemetry rows, {facts.feedback} marks, {facts.vectors} vectors;"
        f" schema {facts.schema}" + (f", model {facts.model}" if facts.model else "")
    )
