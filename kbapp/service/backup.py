"""Writing a knowledge base to an archive, as the surfaces reach it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kbapp.domain.backup_reports import ExportReport


class Export(Protocol):
    """Writes an archive and reads it back; may raise ``UserError`` and ``IndexUnavailable``, leaving nothing."""

    def __call__(self, target: Path, *, vectors: bool, force: bool) -> ExportReport:
        """``vectors``: also what was embedded; ``force``: overwrite a file."""
