"""What every command shares: the global options, the refresh before an answer, JSON or text out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.service.index_report import IndexReport
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings
from kbapp.surfaces.plain_text import plain, plain_json
from kbapp.surfaces.progress import ProgressLine


@dataclass(frozen=True, slots=True)
class Options:
    """The global options."""

    root: Path | None
    state_dir: Path | None
    config: Path | None

    def settings(self) -> Settings:
        """Settings with the command line's folders on top.

        Raises:
            UserError: a setting is wrong, or an explicit root does not exist.
        """
        overrides = {}
        if self.root is not None:
            if not self.root.is_dir():
                raise UserError(f"--root {self.root} is not a folder: name the folder of your documents")
            overrides["knowledge.base-path"] = str(self.root.absolute())
        if self.state_dir is not None:
            overrides["state-dir"] = str(self.state_dir.absolute())
        return Settings.load(self.config, overrides=overrides)

    @contextmanager
    def open(self) -> Iterator[KnowledgeBase]:
        """The knowledge base that these options name."""
        with open_knowledge_base(self.settings()) as kb:
            yield kb

    def say_if_empty(self, report: IndexReport | None) -> None:
        """On stderr how documents get into a knowledge base that has none."""
        if report and not report.documents:
            folder = plain(str(self.settings().base_folder))
            click.echo(
                f"{folder} holds no .md file: put one there, store one with `kbapp upload FILE --category NAME` or in"
                " `kbapp app`, or name another folder with --root",
                err=True,
            )


pass_options = click.make_pass_decorator(Options)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value on stdout.")


def refresh(kb: KnowledgeBase, *, with_levels: bool = False) -> IndexReport | None:
    """Follow the files before answering; when that cannot be now, answer from what is there and say so.

    ``with_levels``: calibrate the levels when that is due; else only after the first index, which takes long anyway.
    """
    try:
        with ProgressLine("indexing") as progress:
            report = kb.refresh(progress.show)
            if with_levels or (report.embedded and kb.level_cuts is None):
                kb.calibrate_levels(progress.show)
    except IndexUnavailable as error:
        click.echo(f"the index is not refreshed: {plain(str(error))}", err=True)
        return None
    if report.former_model:
        click.echo(f"the embedding model changed: {plain(report.former_model)} made the vectors before", err=True)
    for problem in report.failed:
        click.echo(f"not indexed: {plain(f'{problem.path}: {problem.error}')}", err=True)
    return report


def print_values(as_json: bool, values: JsonValue, text: Callable[[], str]) -> None:
    """One JSON value, or text for people, on stdout."""
    if as_json:
        is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
        click.echo(plain_json(json.dumps(values, ensure_ascii=not is_unicode, indent=2)))
    else:
        click.echo(plain(text()))
