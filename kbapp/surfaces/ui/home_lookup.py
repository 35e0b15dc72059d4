"""Home: the box for a first lookup, the examples, and what came of them."""

from __future__ import annotations

import streamlit as st

from kbapp.domain.errors import UserError
from kbapp.domain.invocation import Invocation
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.surfaces.ui import state
from kbapp.surfaces.ui.card import render_card
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.example_buttons import render_examples
from kbapp.surfaces.ui.home_examples import Example, examples_for, is_sample, queries_of
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

QUERY = "home_query"
CALLS = "home_calls"  # the rows of the last press, for the reruns after it
REFUSAL = "home_refusal"
REASON = "home_reason"  # what the pressed example shows


def render_lookup(kb: KnowledgeBase) -> None:
    """The form, the examples, and below them the cards of what was asked last."""
    with st.container(border=True, key="home_try"):
        st.header(t("home.try"), anchor=False)
        typed, example = _asked_in_form(), _asked_by_example(kb)
        queries = typed or example
        if queries:
            with st.spinner(t("home.looking_up")):
                _look_up(kb, queries)
    _render_outcome(kb)


def _asked_in_form() -> tuple[str, ...]:
    with (
        st.form("home_lookup", border=False, enter_to_submit=True),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        query = st.text_input(
            t("home.query"), key=QUERY, placeholder=t("home.query_hint"), label_visibility="collapsed"
        )
        pressed = st.form_submit_button(t("home.look_up"), key="home_submit", type="primary", icon=":material/search:")
    if not pressed:
        return ()
    st.session_state[REASON] = None
    return (query,)


def _asked_by_example(kb: KnowledgeBase) -> tuple[str, ...]:
    entries = kb.entries()
    examples = examples_for(entries)
    if not examples:
        return ()
    st.caption(t("home.examples_sample" if is_sample(entries) else "home.examples_own"))
    pressed = render_examples(examples, "home", on_click=_show_in_form)
    if pressed is None:
        return ()
    st.session_state[REASON] = pressed.shows
    return queries_of(pressed, (call.query for call in kb.session(state.session_id()).calls))


def _show_in_form(example: Example) -> None:
    st.session_state[QUERY] = example.query


def _look_up(kb: KnowledgeBase, queries: tuple[str, ...]) -> None:
    st.session_state[CALLS], st.session_state[REFUSAL] = [], None
    for query in queries:
        try:
            _, call = kb.explained_lookup(LookupRequest(query, state.session_id()))
        except UserError as error:
            st.session_state[REFUSAL] = str(error)
            return
        st.session_state[CALLS].append(call)


def _render_outcome(kb: KnowledgeBase) -> None:
    """What was asked last, unless the tab is in another session by now."""
    if st.session_state.get(REFUSAL):
        st.error(plain(st.session_state[REFUSAL]), icon=":material/block:")
    calls: list[Invocation] = st.session_state.get(CALLS, [])
    calls = [call for call in calls if call.session_id == state.session_id()]
    shown = {call.id for call in calls}
    memory = kb.session(state.session_id())
    # A card refers to an earlier one by its number: to one that is on this page.
    numbers = {call.invocation_id: number for number, call in enumerate(memory.calls, 1) if call.invocation_id in shown}
    if calls and st.session_state.get(REASON):
        st.caption(f":material/school: {t(f'home.why.{st.session_state[REASON]}')}")
    for call in calls:
        render_card(kb, call, numbers=numbers)
    if calls:
        _render_ways_on()


def _render_ways_on() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(Page.SIMULATOR.value, label=t("home.go_on"), icon=":material/arrow_forward:")
        st.button(
            t("home.new_session"),
            key="home_new_session",
            icon=":material/restart_alt:",
            help=t("home.new_session_help"),
            on_click=_begin_anew,
        )


def _begin_anew() -> None:
    state.begin_session()
    st.session_state[CALLS], st.session_state[REFUSAL] = [], None
