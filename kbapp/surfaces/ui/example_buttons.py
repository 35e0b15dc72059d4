"""Example queries as buttons; on each what it shows, in the look of the level that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from kbapp.domain.relevance import RelevanceLevel
from kbapp.surfaces.ui.home_examples import Example, Shows
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

_LOOK_OF = {
    Shows.PRECISE: RelevanceLevel.PRECISE,
    Shows.HIGHLY_RELEVANT: RelevanceLevel.HIGHLY_RELEVANT,
    Shows.REFERENCE: RelevanceLevel.REFERENCE,
    Shows.NOT_FOUND: None,
    Shows.REPEAT: RelevanceLevel.DEDUPED,
    Shows.DOMAIN_BLOCK: RelevanceLevel.DEDUPED,
}


def render_examples(
    examples: Sequence[Example], page: str, *, on_click: Callable[[Example], None] | None = None
) -> Example | None:
    """The example that was pressed; the keys begin with the page's name."""
    pressed: Example | None = None
    with st.container(horizontal=True, gap="small", key=f"{page}_examples"):
        for number, example in enumerate(examples):
            if st.button(
                _label(example),
                key=f"{page}_example_{number}",
                help=t(f"home.why.{example.shows}"),
                on_click=on_click,
                args=(example,) if on_click else None,
            ):
                pressed = example
    return pressed


def _label(example: Example) -> str:
    if example.shows is Shows.OWN:
        return f":material/key: {plain(example.query)}"
    look = LOOKS[_LOOK_OF[example.shows]]
    return f":{look.colour}[{look.icon} **{t(f'home.shows.{example.shows}')}**] {plain(example.query)}"
