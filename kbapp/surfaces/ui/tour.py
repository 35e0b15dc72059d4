"""A tour of five steps, shown above the page at the very first start, and whenever it is asked for."""

from __future__ import annotations

import streamlit as st

from kbapp.domain.errors import IndexUnavailable
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.state import t

STEP = "ui_tour_step"  # from 1; 0: not under way
# The page that each step speaks of: script, and its name in the catalogue.
STEPS = (
    ("app.py", "menu.home"),
    ("app.py", "menu.home"),
    ("pages/simulator.py", "menu.simulator"),
    ("pages/simulator.py", "menu.simulator"),
    ("pages/telemetry.py", "menu.telemetry"),
)


def render_tour(kb: KnowledgeBase, page: str) -> None:
    """The step that is under way, with a link when it is about another page than this one."""
    if STEP not in st.session_state:
        st.session_state[STEP] = 1 if _is_first_start(kb) else 0
    step: int = st.session_state[STEP]
    if not step:
        return
    script, name = STEPS[step - 1]
    with st.container(border=True, key="tour"):
        st.caption(f":material/explore: {t('tour.step', number=step, count=len(STEPS))}")
        st.markdown(t(f"tour.{step}"))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if script != page:
                st.page_link(script, label=t("tour.open", page=t(name)), icon=":material/arrow_forward:")
            if step > 1:
                st.button(t("tour.back"), key="tour_back", on_click=_go_to, args=(step - 1,))
            if step < len(STEPS):
                st.button(t("tour.next"), key="tour_next", type="primary", on_click=_go_to, args=(step + 1,))
                st.button(t("tour.end"), key="tour_end", type="tertiary", on_click=_go_to, args=(0,))
            else:
                st.button(t("tour.done"), key="tour_done", type="primary", on_click=_go_to, args=(0,))


def render_start_of_tour() -> None:
    """The button that begins the tour."""
    st.button(t("tour.start"), icon=":material/explore:", key="tour_start", on_click=_go_to, args=(1,))


def _go_to(step: int) -> None:
    st.session_state[STEP] = step


def _is_first_start(kb: KnowledgeBase) -> bool:
    """Nobody has looked anything up yet."""
    try:
        return not kb.telemetry(limit=1)
    except IndexUnavailable:
        return False
