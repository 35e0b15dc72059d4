"""All words on the screen, in English and Chinese: one catalogue, a module per page."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from kbapp.surfaces.ui.texts import common, home, knowledge_base, scripted, simulator, telemetry, tour

Catalogue = Mapping[str, tuple[str, str]]
"""Key → English, Chinese; ``{name}`` stands for a value."""

CATALOGUE: Catalogue = MappingProxyType(
    {
        **common.TEXTS,
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


def text(key: str, language: Language, **values: object) -> str:
    """One text of the catalogue, filled in."""
    english, chinese = CATALOGUE[key]
    return (english if language is Language.ENGLISH else chinese).format(**values)
