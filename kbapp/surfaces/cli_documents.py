"""The commands about documents: list, look into, upload, delete."""

from __future__ import annotations

from pathlib import Path

import click

from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.service.documents import UploadOutcome
from kbapp.surfaces import cli_text
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values, refresh
from kbapp.surfaces.plain_text import plain
from kbapp.surfaces.progress import ProgressLine


@click.command()
@json_option
@pass_options
def documents(options: Options, as_json: bool) -> None:
    """List the documents with their state."""
    with options.open() as kb:
        options.say_if_empty(refresh(kb))
        records = kb.documents()
        values: list[JsonValue] = [record.to_dict(kb.base_folder) for record in records]
    print_values(as_json, values, lambda: cli_text.documents_text(records))


@click.command()
@click.argument("path")
@json_option
@pass_options
def chunks(options: Options, path: str, as_json: bool) -> None:
    """Show the chunks of the document PATH."""
    with options.open() as kb:
        refresh(kb)
        stored = kb.chunks(path)
        values: list[JsonValue] = [chunk.to_metadata(kb.base_folder) for chunk in stored]
    print_values(as_json, values, lambda: cli_text.chunks_text(stored))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--category", metavar="NAME", required=True, help="The folder of the knowledge base to store it in.")
@click.option("--replace", is_flag=True, help="Take the place of a document of that name.")
@json_option
@pass_options
def upload(options: Options, file: Path, category: str, replace: bool, as_json: bool) -> None:
    """Store the Markdown file FILE in the knowledge base and index it."""
    data = _read(file, options.settings().knowledge.max_file_size)
    with options.open() as kb, ProgressLine("indexing") as progress:
        result = kb.upload(file.name, data, category, replace=replace, on_progress=progress.show)
        values = result.to_dict(kb.base_folder)
    has_failed = result.outcome is UploadOutcome.FAILED
    if as_json or not has_failed:
        print_values(as_json, values, lambda: cli_text.upload_text(result))
    if has_failed:
        error = result.record.error
        raise IndexUnavailable(f"{result.record.path} is stored but not indexed: {error} (`kbapp index` tries again)")


@click.command()
@click.argument("path")
@json_option
@pass_options
def delete(options: Options, path: str, as_json: bool) -> None:
    """Delete the document PATH: its file, and what the indexes hold of it."""
    with options.open() as kb:
        record = kb.delete(path)
        values = record.to_dict(kb.base_folder)
    print_values(as_json, values, lambda: plain(f"deleted: {record.path}"))


def _read(file: Path, max_size_bytes: int) -> bytes:
    try:
        if not file.is_file():
            raise UserError(f"{file} is not a file: name the Markdown file to upload")
        size_bytes = file.stat().st_size
        if size_bytes > max_size_bytes:
            raise UserError(
                f"{file} has {size_bytes:,} bytes, more than the {max_size_bytes:,} of knowledge.max-file-size: "
                "split it or raise the setting"
            )
        return file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): check its name and permissions") from error
