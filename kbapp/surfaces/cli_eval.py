"""The command ``eval``: labelled queries, and how well they are answered."""

from __future__ import annotations

import os
from pathlib import Path

import click

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.encodings import decode_markdown
from kbapp.domain.errors import UserError
from kbapp.domain.hashing import text_hash
from kbapp.service.evaluation import evaluate, read_labels
from kbapp.service.evaluation_report import report_of
from kbapp.settings import Settings
from kbapp.surfaces.cli_eval_text import evaluation_text
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values, refresh
from kbapp.surfaces.plain_text import plain


@click.command(name="eval")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="Folder of the documents, in place of --root; its index is kept apart from yours.",
)
@json_option
@pass_options
def eval_command(options: Options, file: Path, corpus: Path | None, as_json: bool) -> None:
    """Look the labelled queries of FILE up (JSON lines of id, query, kind, relevant) and measure what comes out."""
    data = read_label_file(file)
    settings = corpus_settings(options, corpus)
    with open_knowledge_base(settings) as kb:
        refresh(kb, with_levels=True)
        try:
            outcomes = evaluate(kb, read_labels(decode_markdown(data), kb))
        except UserError as error:
            raise UserError(f"{file}: {error}") from error
    report = report_of(outcomes)
    print_values(as_json, report.to_dict(), lambda: plain(evaluation_text(report, outcomes)))


def read_label_file(file: Path) -> bytes:
    """The bytes of a file of labelled queries."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): name a file with one query per line") from error


def corpus_settings(options: Options, corpus: Path | None) -> Settings:
    """Another corpus gets a state folder and an engine of its own: it must not take the place of the user's indexes."""
    settings = options.settings()
    if corpus is None:
        return settings
    if not corpus.is_dir():
        raise UserError(f"--corpus {corpus} is not a folder: name the folder of the documents")
    folder = os.path.abspath(corpus)  # noqa: PTH100 - resolve would give a linked folder another name
    overrides = {
        "knowledge.base-path": folder,
        "state-dir": str(settings.state_folder / "eval" / text_hash(folder)[:16]),
        "milvus.uri": "",
    }
    return Settings.load(options.config, overrides=overrides)
