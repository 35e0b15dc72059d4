"""How a relevance level looks: the same sign, colour and name on every page, and never colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.relevance import RelevanceLevel
from kbapp.surfaces.ui.state import t

Colour = Literal["green", "blue", "orange", "violet", "gray", "red"]


@dataclass(frozen=True, slots=True)
class LevelLook:
    """Name in the catalogue, colour by Streamlit's name, and sign."""

    key: str
    colour: Colour
    icon: str

    @property
    def name(self) -> str:
        """The name in the language of the screen."""
        return t(self.key)


LOOKS: dict[RelevanceLevel | None, LevelLook] = {
    RelevanceLevel.PRECISE: LevelLook("level.PRECISE", "green", ":material/my_location:"),
    RelevanceLevel.HIGHLY_RELEVANT: LevelLook("level.HIGHLY_RELEVANT", "blue", ":material/verified:"),
    RelevanceLevel.REFERENCE: LevelLook("level.REFERENCE", "orange", ":material/bookmark:"),
    RelevanceLevel.DEDUPED: LevelLook("level.DEDUPED", "violet", ":material/content_copy:"),
    None: LevelLook("level.none", "gray", ":material/search_off:"),
}
_DEGRADED = LevelLook("level.degraded", "orange", ":material/warning:")
_REFUSED = LevelLook("level.error", "red", ":material/block:")


def look_of(invocation: Invocation) -> LevelLook:
    """How the answer to a call looks; a refused call has no level, and where a part did not answer a miss is none."""
    if invocation.outcome is Outcome.DEGRADED and invocation.relevance_level is None:
        return _DEGRADED
    return _REFUSED if invocation.error else LOOKS[invocation.relevance_level]


def render_level(look: LevelLook) -> None:
    """The level as a badge."""
    st.badge(look.name, icon=look.icon, color=look.colour)
