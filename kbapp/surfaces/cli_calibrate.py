"""The command ``calibrate``: a relevance profile of this knowledge base's own, from labels or from feedback."""

from __future__ import annotations

from pathlib import Path

import click

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.documents import JsonValue
from kbapp.domain.encodings import decode_markdown
from kbapp.domain.errors import UserError
from kbapp.service.calibrating import Calibration, calibrate_by_feedback, calibrate_by_labels
from kbapp.service.evaluation import read_labels
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.cli_calibrate_text import calibration_text, next_step_text
from kbapp.surfaces.cli_eval import corpus_settings, read_label_file
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values, refresh
from kbapp.surfaces.plain_text import plain


@click.command(name="calibrate")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="Folder of the documents, in place of --root; its index is kept apart from yours.",
)
@click.option("--apply", "is_applied", is_flag=True, help="Write the profile to the settings file.")
@json_option
@pass_options
def calibrate_command(
    options: Options, file: Path | None, corpus: Path | None, is_applied: bool, as_json: bool
) -> None:
    """Make a relevance profile from the labelled queries of FILE (as for eval), or from the calls that were marked."""
    _check(file, corpus, is_applied=is_applied)
    data = read_label_file(file) if file else None
    settings = corpus_settings(options, corpus)
    with open_knowledge_base(settings) as kb:
        refresh(kb, with_levels=True)
        calibration = _calibration(kb, file, data)
        written = kb.write_profile(calibration.profile) if is_applied else None
    values: dict[str, JsonValue] = {**calibration.to_dict(), "applied": str(written) if written else None}
    source = "labelled queries" if file else "marked answers (helpful: right; any other mark: off-topic)"
    next_step = next_step_text(written, settings.config_file, is_corpus=corpus is not None)
    print_values(as_json, values, lambda: plain(f"{calibration_text(calibration, source)}\n\n{next_step}"))


def _check(file: Path | None, corpus: Path | None, *, is_applied: bool) -> None:
    if corpus is not None and file is None:
        raise UserError("--corpus needs a FILE of labelled queries: calls are marked in your own knowledge base only")
    if corpus is not None and is_applied:
        raise UserError(
            "--apply is for the knowledge base of the settings, and levels do not carry over from another one: name its"
            " folder with --root before the command, or leave --corpus out"
        )


def _calibration(kb: KnowledgeBase, file: Path | None, data: bytes | None) -> Calibration:
    if data is None:
        return calibrate_by_feedback(kb)
    try:
        return calibrate_by_labels(kb, read_labels(decode_markdown(data), kb))
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
