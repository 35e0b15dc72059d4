"""All words on the screen, in English and Chinese: one catalogue, a module per page."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from kbapp.surfaces.ui.texts import common, evaluation, home, knowledge_base, scripted, simulator, telemetry, tour

Catalogue = Mapping[str, tuple[str, str]]
"""Key → English, Chinese; ``{name}`` stands for a value."""

CATALOGUE: Catalogue = MappingProxyType(
    {
        **common.TEXTS,
        **evaluation.TEXTS,
        **home.TEXTS,
        **knowledge_base.TEXTS,
        **scripted.TEXTS,
        **simulator.TEXTS,
        **telemetry.TEXTS,
        **tour.TEXTS,
    }
)


class Language(StrEnum):
    """A language of the screen; the value is its name in itself."""

    ENGLISH = "English"
    CHINESE = "中文"


class _Number(int):
    """A count; the format ``s`` is the ending of the English word behind it."""

    def __format__(self, spec: str) -> str:
        return _ending(self == 1) if spec == "s" else super().__format__(spec)


class _Written(str):
    """A count that is written already (``1,024``), or any other text."""

    def __format__(self, spec: str) -> str:
        return _ending(self == "1") if spec == "s" else super().__format__(spec)


def text(key: str, language: Language, **values: object) -> str:
    """One text of the catalogue, filled in; ``{calls} call{calls:s}`` gives ``1 call`` and ``2 calls``."""
    english, chinese = CATALOGUE[key]
    counted = {name: _counted(value) for name, value in values.items()}
    return (english if language is Language.ENGLISH else chinese).format(**counted)


def _counted(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return _Number(value)
    return _Written(value) if type(value) is str else value


def _ending(is_one: bool) -> str:
    return "" if is_one else "s"
