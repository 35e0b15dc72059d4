"""Where a knowledge base is on this machine, and where an import makes ready."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STAGING_FOLDER = "import"  # in the state folder
STAGED_DOCUMENTS = ".kbapp-import"  # in the base folder, where a move is a rename; scans leave it out


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and files of a knowledge base."""

    base_folder: Path
    state_folder: Path
    database: Path
    settings_file: Path
