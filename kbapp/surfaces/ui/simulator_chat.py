"""The chat of the executor simulator: the input, and the session's calls as cards, oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.surfaces.ui import state
from kbapp.surfaces.ui.card import local_time, render_card
from kbapp.surfaces.ui.example_buttons import render_examples
from kbapp.surfaces.ui.home_examples import examples_for, queries_of
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

POLICY = "simulator_policy"
MAX_CALLS = 200  # of one session on the screen
_TURN = "simulator_turn"  # counts the calls of this tab: the options of the next call begin anew with each
_UNRECORDED = "simulator_unrecorded"  # calls that the telemetry could not keep


@dataclass(frozen=True, slots=True)
class NextCall:
    """What the next call has besides its query."""

    section_title: str | None
    missing_dimension: str | None
    force: bool


def session_calls(kb: KnowledgeBase) -> list[Invocation]:
    """The calls and clears of the tab's session, oldest first; also those that could not be recorded."""
    session = state.session_id()
    kept: dict[str, Invocation] = {
        call.id: call for call in st.session_state.get(_UNRECORDED, ()) if call.session_id == session
    }
    try:
        kept |= {call.id: call for call in kb.telemetry(session_id=session, limit=MAX_CALLS)}
    except IndexUnavailable as error:
        st.warning(plain(str(error)), icon=":material/warning:")
    return sorted(kept.values(), key=lambda call: call.created_at)


def numbers_of(calls: Sequence[Invocation]) -> dict[str, int]:
    """The number of each call, from 1; a clear has none."""
    lookups = [call for call in calls if call.tool_name != CLEAR_TOOL_NAME]
    return {call.id: number for number, call in enumerate(lookups, 1)}


def render_input(kb: KnowledgeBase) -> None:
    """The box for the next message, with its options and examples; what is sent is looked up, once."""
    with st.bottom:
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        with row:
            options = _render_options(kb)
            queries = _render_examples(kb)
        typed = st.chat_input(t("simulator.placeholder"), key="simulator_query")
    if typed:
        queries = (typed,)
    if queries:
        with row, st.spinner(t("simulator.searching")):
            for query in queries:
                _look_up(kb, query, options)
        st.session_state[_TURN] = _turn() + 1
        st.rerun()


def render_chat(kb: KnowledgeBase, calls: Sequence[Invocation]) -> None:
    """One card per call; where the session was cleared a line says so."""
    numbers = numbers_of(calls)
    for call in calls:
        if call.tool_name == CLEAR_TOOL_NAME:
            st.caption(f":material/mop: {t('simulator.cleared', time=local_time(call.created_at))}")
        else:
            render_card(kb, call, numbers=numbers)


def _look_up(kb: KnowledgeBase, query: str, options: NextCall) -> None:
    """A refused query is a row too, and its card says why."""
    policy = st.session_state.get(POLICY) or kb.domain_policy
    request = LookupRequest(
        query=query,
        session_id=state.session_id(),
        section_title=options.section_title,
        missing_dimension=options.missing_dimension,
        force=options.force,
        domain_policy=DomainPolicy(policy),
    )
    with suppress(UserError):
        _, call = kb.explained_lookup(request)
        unrecorded: list[Invocation] = st.session_state.setdefault(_UNRECORDED, [])
        st.session_state[_UNRECORDED] = [*unrecorded, call][-MAX_CALLS:]


def _turn() -> int:
    turn: int = st.session_state.get(_TURN, 0)
    return turn


def _render_options(kb: KnowledgeBase) -> NextCall:
    turn = _turn()
    with st.popover(t("simulator.options"), icon=":material/tune:", help=t("simulator.options_help")):
        section = st.selectbox(
            t("simulator.section"),
            _given_sections(kb),
            index=None,
            accept_new_options=True,
            placeholder=t("simulator.section_placeholder"),
            help=t("simulator.section_help"),
            key=f"simulator_section_{turn}",
        )
        dimension = st.text_input(
            t("simulator.dimension"), help=t("simulator.dimension_help"), key=f"simulator_dimension_{turn}"
        )
        force = st.toggle(t("simulator.force"), help=t("simulator.force_help"), key=f"simulator_force_{turn}")
    _render_chosen(section, dimension, force=force)
    return NextCall(section or None, dimension.strip() or None, force)


def _render_examples(kb: KnowledgeBase) -> tuple[str, ...]:
    """The queries of the example that was pressed."""
    examples = examples_for(kb.entries())
    if not examples:
        return ()
    with st.popover(t("simulator.examples"), icon=":material/lightbulb:"):
        pressed = render_examples(examples, "simulator")
    asked = (call.query for call in kb.session(state.session_id()).calls)
    return queries_of(pressed, asked) if pressed else ()


def _render_chosen(section: str | None, dimension: str, *, force: bool) -> None:
    """What the next call will have stands beside the box, so that nobody sends it unawares."""
    if section:
        st.badge(t("card.section", value=plain(section)), icon=":material/tune:", color="blue")
    if dimension.strip():
        st.badge(t("card.dimension", value=plain(dimension)), icon=":material/tune:", color="blue")
    if force:
        st.badge(t("card.force"), icon=":material/bolt:", color="orange")


def _given_sections(kb: KnowledgeBase) -> list[str]:
    documents = [path for paths in kb.session(state.session_id()).documents.values() for path in paths]
    return list(dict.fromkeys(section for path in documents for section in kb.sections_of(path)))
