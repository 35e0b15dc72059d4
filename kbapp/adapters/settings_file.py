"""Changes to ``kbapp.yaml`` that leave its comments, order and other values as they are."""

from __future__ import annotations

import io
import stat
from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from kbapp.adapters.disk import write_whole
from kbapp.domain.errors import UserError

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class SettingsFile:
    """The file that the next start reads; it is made when there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, values: Mapping[str, float | str]) -> None:
        """Set these settings, by dotted name, where the file has them already, else nested at its end.

        Raises:
            UserError: the file cannot be read or written; nothing has changed then.
        """
        yaml = YAML()
        yaml.preserve_quotes = True
        yaml.width = 4096  # do not fold other people's lines
        file = self.path.resolve()  # a link stays one
        before = self._read(file)
        content = self._content(yaml, before)
        was_empty = not content
        for name, value in values.items():
            _set(content, name, value)
        text = io.StringIO()
        yaml.dump(content, text)
        # A file of comments alone holds no value that they could be attached to.
        self._write(file, f"{before.rstrip()}\n{text.getvalue()}" if was_empty and before.strip() else text.getvalue())

    def _read(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path} cannot be read ({error}); nothing has changed") from error

    def _write(self, file: Path, text: str) -> None:
        try:
            mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else None
            if mode is not None and not mode & _WRITABLE:
                raise UserError(f"{self.path} is read-only; nothing has changed")
            write_whole(file, text.encode(), mode=mode)
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}; nothing has changed") from error

    def _content(self, yaml: YAML, text: str) -> CommentedMap:
        try:
            content = yaml.load(text)
        except (ValueError, RecursionError, YAMLError) as error:
            reason = str(error).split("\n", 1)[0]
            raise UserError(f"{self.path} cannot be read as YAML ({reason}); nothing has changed") from error
        if content is None:
            return CommentedMap()
        if not isinstance(content, CommentedMap):
            raise UserError(f"{self.path} is no mapping of settings to values; nothing has changed")
        return content


def _set(group: CommentedMap, name: str, value: float | str) -> None:
    """Set a dotted name; ``a.b: 1`` and nesting mean the same, and the form that is there is kept."""
    if name in group:
        group[name] = value
        return
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        head, rest = ".".join(parts[:length]), ".".join(parts[length:])
        if isinstance(group.get(head), CommentedMap):
            _set(group[head], rest, value)
            return
    if len(parts) == 1:
        group[name] = value
        return
    group[parts[0]] = CommentedMap()
    _set(group[parts[0]], ".".join(parts[1:]), value)
