"""What an export or an import did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kbapp.domain.documents import FileProblem, JsonValue


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """A database in figures; ``schema`` is its last migration, ``model`` the one that made its vectors."""

    schema: str | None
    model: str | None
    records: int
    telemetry: int
    feedback: int
    vectors: int


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export did; ``secrets`` are the settings left out, ``left_out`` the files, each with the reason."""

    file: Path
    size_bytes: int
    documents: int
    database: DatabaseFacts | None
    has_settings: bool
    secrets: tuple[str, ...]
    left_out: tuple[FileProblem, ...]
    seconds: float

    def to_dict(self) -> dict[str, JsonValue]:
        """The JSON of ``kbapp export``."""
        return {
            "file": str(self.file),
            "bytes": self.size_bytes,
            "documents": self.documents,
            **_figures(self.database),
            "settings": self.has_settings,
            "secrets_left_out": list(self.secrets),
            "left_out": [{"path": problem.path, "error": problem.error} for problem in self.left_out],
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    ``kept`` is where everything is that was there before; ``settings`` those that were written, to ``settings_file``,
    and ``other_settings`` those that are not as in the archive, because the file was there already.
    """

    file: Path
    documents: int
    database: DatabaseFacts
    migrated_from: str | None
    kept: tuple[Path, ...]
    settings_file: Path
    settings: tuple[str, ...]
    other_settings: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict[str, JsonValue]:
        """The JSON of ``kbapp import``."""
        return {
            "file": str(self.file),
            "documents": self.documents,
            **_figures(self.database),
            "migrated_from": self.migrated_from,
            "kept": [str(file) for file in self.kept],
            "settings_written": list(self.settings),
            "settings_that_differ": list(self.other_settings),
            "seconds": round(self.seconds, 3),
        }


def _figures(facts: DatabaseFacts | None) -> dict[str, JsonValue]:
    facts = facts or DatabaseFacts(None, None, 0, 0, 0, 0)
    return {
        "telemetry": facts.telemetry,
        "feedback": facts.feedback,
        "vectors": facts.vectors,
        "schema": facts.schema,
        "model": facts.model,
    }
