"""The two thresholds as sliders, and the queries of a run by those in force and by the chosen ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.service.what_if import Judged
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.state import t

REFERENCE = "evaluation_reference"
HIGHLY = "evaluation_highly"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same queries by the thresholds in force and by the chosen ones."""

    in_force: Thresholds
    chosen: Thresholds
    before: tuple[Judged, ...]
    after: tuple[Judged, ...]

    @property
    def is_changed(self) -> bool:
        """Whether other thresholds are chosen than those in force."""
        return self.in_force != self.chosen


def render_sliders(in_force: Thresholds) -> Thresholds:
    """The chosen thresholds; the sliders push each other, so that the first is never above the second."""
    st.session_state.setdefault(REFERENCE, in_force.reference)
    st.session_state.setdefault(HIGHLY, in_force.highly_relevant)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="evaluation_sliders"):
        for key, level in ((REFERENCE, RelevanceLevel.REFERENCE), (HIGHLY, RelevanceLevel.HIGHLY_RELEVANT)):
            st.slider(
                f"{LOOKS[level].name} ≥",
                0.0,
                1.0,
                step=0.01,
                key=key,
                on_change=_push,
                args=(key,),
                help=t(f"evaluation.slider_{level.value}"),
                persist_state="session",
            )
    return replace(
        in_force,
        reference=_exact(st.session_state[REFERENCE], in_force.reference),
        highly_relevant=_exact(st.session_state[HIGHLY], in_force.highly_relevant),
    )


def _push(moved: str) -> None:
    reference, highly = st.session_state[REFERENCE], st.session_state[HIGHLY]
    if reference > highly:
        st.session_state[HIGHLY if moved == REFERENCE else REFERENCE] = st.session_state[moved]


def _exact(value: float, in_force: float) -> float:
    """Without the dust of floating steps, which would be written to the settings."""
    return in_force if abs(value - in_force) < 1e-9 else round(value, 4)


def set_sliders(thresholds: Thresholds) -> None:
    """Put both sliders there."""
    st.session_state[REFERENCE], st.session_state[HIGHLY] = thresholds.reference, thresholds.highly_relevant
