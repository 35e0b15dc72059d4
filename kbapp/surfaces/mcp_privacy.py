"""Sentences for an agent without the folders of this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from kbapp.settings import Settings


class HiddenFolders:
    """Folders by the name that stands for them; a value."""

    def __init__(self, names: Mapping[Path, str]) -> None:
        self._names = sorted(((str(folder), name) for folder, name in names.items()), key=lambda pair: -len(pair[0]))

    def hide(self, sentence: str) -> str:
        """The sentence with each folder replaced by its name, the longest paths first."""
        for folder, name in self._names:
            sentence = sentence.replace(folder, name)
        return sentence


def folders_of(settings: Settings) -> HiddenFolders:
    """What a fault's sentence may name: the folders that are set, and those of the program and its user."""
    names = {
        Path.home(): "~",
        Path(sys.prefix): "(program)",
        Path(sys.base_prefix): "(program)",
        settings.project_root: "(project)",
        settings.base_folder: settings.base_folder.name,
        settings.state_folder: "(state-dir)",
    }
    return HiddenFolders({folder: name for folder, name in names.items() if folder != Path(folder.anchor)})
