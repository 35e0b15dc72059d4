"""Settings files in a backup: read for an export, judged and written for an import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from kbapp.domain.backup import MAX_SETTINGS_BYTES
from kbapp.domain.errors import UserError


def read_settings(file: Path) -> dict[str, object]:
    """The values in a settings file; none without it.

    Raises:
        UserError: it cannot be read.
    """
    try:
        if not file.exists():
            return {}
        if file.stat().st_size > MAX_SETTINGS_BYTES:
            raise UserError(f"{file} has more than {MAX_SETTINGS_BYTES:,} bytes: shorten it")
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = str(error).split("\n", 1)[0]
        raise UserError(f"{file} cannot be read as YAML ({reason}): mend it") from error
    return values if isinstance(values, dict) else {}


def archived_settings(file: Path) -> dict[str, object]:
    """The settings by dotted name, as an export writes them: without nesting, which could be without an end.

    Raises:
        UserError: they are of another form.
    """
    values = read_settings(file)
    for name, value in values.items():
        parts = value if isinstance(value, list) else [value]
        if not isinstance(name, str) or not all(isinstance(part, (str, int, float)) for part in parts):
            raise UserError(f"its settings hold {str(name)[:60]!r}, which no export writes")
    return values


def settings_text(values: Mapping[str, object]) -> bytes:
    """The settings as a file."""
    return yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=False).encode() if values else b""
