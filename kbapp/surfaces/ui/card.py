"""One call of ``lookup_knowledge`` as a card, from its telemetry row alone (T7): what was given, why, what was seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import Invocation
from kbapp.domain.lookup_result import LookupResult, parse_result
from kbapp.domain.relevance import HINTS, HintLanguage
from kbapp.domain.tokens import content_tokens
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui import state
from kbapp.surfaces.ui.context import errors_as_sentences
from kbapp.surfaces.ui.levels import look_of, render_level
from kbapp.surfaces.ui.quoted import plain, render_quoted
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.texts import Language
from kbapp.surfaces.ui.verdicts import render_verdict
from kbapp.surfaces.ui.why import render_why

_DETAIL_ICONS = {"why": ":material/help:", "seen": ":material/data_object:"}


def render_card(
    kb: KnowledgeBase, call: Invocation, *, numbers: dict[str, int] | None = None, is_recorded: bool = True
) -> None:
    """A call; ``numbers``: the number of each call of the session, for the card itself and the one it refers to.

    A call that is not in the telemetry (``is_recorded``) cannot be marked.
    """
    result = parse_result(call.retrieval_details.get("result"))
    with st.container(border=True, key=f"call_{call.id}"):
        _render_head(call, (numbers or {}).get(call.id))
        if call.error:
            st.error(plain(call.error), icon=":material/block:")
        if result:
            _render_result(call, result, numbers or {})
        _render_times(call)
        _render_foot(kb, call, result, is_recorded)


def local_time(created_at: str) -> str:
    """A time of the telemetry (UTC, ISO 8601) on the clock of this machine."""
    return f"{datetime.fromisoformat(created_at).astimezone():%H:%M:%S}"


def _render_head(call: Invocation, number: int | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.header(plain(call.query) or "–", anchor=f"call-{call.id}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        render_level(look_of(call))
        if call.dedup_reason:
            st.badge(t(f"dedup.{call.dedup_reason}"), icon=":material/history:", color="violet")
        for key, value in (("card.section", call.section_title), ("card.dimension", call.missing_dimension)):
            if value:
                st.badge(t(key, value=plain(value)), icon=":material/tune:", color="gray")
        if call.retrieval_details.get("force"):
            st.badge(t("card.force"), icon=":material/bolt:", color="gray")
        st.caption(f"#{number} · {local_time(call.created_at)}" if number else local_time(call.created_at))


def _render_result(call: Invocation, result: LookupResult, numbers: dict[str, int]) -> None:
    if result.completeness_hint:
        st.markdown(f":material/lightbulb: _{plain(result.completeness_hint)}_")
        _render_meaning(result)
    render_domains(result.retrieved_domains, _texts(call.retrieval_details.get("new_domains")))
    if result.message:
        st.info(plain(result.message), icon=":material/chat_info:")
    if result.degraded:
        st.warning(plain(result.degraded), icon=":material/warning:")
    _render_earlier(call, numbers)
    words = marked_words(call)
    if result.primary:
        kind = t("card.metadata" if result.primary.available_sections is None else "card.primary")
        _render_part(kind, plain(result.primary.title), result.primary.source, result.primary.content, words)
    if result.supplement:
        path = plain(result.supplement.breadcrumb)
        _render_part(t("card.supplement"), path, result.supplement.source, result.supplement.content, words)


@st.fragment
def _render_foot(kb: KnowledgeBase, call: Invocation, result: LookupResult | None, is_recorded: bool) -> None:
    """Why, what was seen, and the verdict; a fragment, since a click here concerns this card alone."""
    with errors_as_sentences(), st.container(gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", gap="small"):
            chosen = st.segmented_control(
                t("card.details"),
                ["why", "seen"] if result else ["why"],
                format_func=lambda detail: f"{_DETAIL_ICONS[detail]} {t(f'card.{detail}')}",
                label_visibility="collapsed",
                key=f"card_details_{call.id}",
            )
            if result and is_recorded:
                render_verdict(kb, call)
        if chosen == "why":
            with st.container(border=True):
                render_why(call)
        elif chosen == "seen" and result:
            with st.container(border=True):
                st.caption(t("card.seen_note"))
                st.code(json.dumps(result.to_dict(), ensure_ascii=False, indent=2), language="json", wrap_lines=True)


def _render_part(kind: str, title: str, source: str, content: str, words: Sequence[str]) -> None:
    with st.container(border=True, gap="small"):
        st.markdown(f"**{title}**")
        st.caption(f"{kind} · :material/description: {plain(source)}")
        if content:
            render_quoted(content, words)


def _render_meaning(result: LookupResult) -> None:
    """What the hint says in the language of the screen, where the executor was told in the other one."""
    language = HintLanguage.ZH if state.language() is Language.CHINESE else HintLanguage.EN
    meaning = HINTS[language][result.relevance_level] if result.relevance_level else None
    if meaning and meaning != result.completeness_hint:
        st.caption(t("card.hint_meaning", hint=plain(meaning)))


def _render_earlier(call: Invocation, numbers: dict[str, int]) -> None:
    earlier = call.retrieval_details.get("earlier_invocation")
    if isinstance(earlier, str) and earlier in numbers:
        st.markdown(
            f":material/subdirectory_arrow_left: [{t('card.earlier', number=numbers[earlier])}](#call-{earlier})"
        )


def render_domains(domains: Sequence[str], new: Sequence[str]) -> None:
    """The retrieved domains of the session as chips, in order; those that are new are marked by word and sign."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(t("card.domains"), width="content")
        if not domains:
            st.caption("–")
        for domain in domains:
            is_new = domain in new
            label = t("card.new_domain", domain=plain(domain)) if is_new else plain(domain)
            icon = ":material/add:" if is_new else ":material/folder:"
            st.badge(label, icon=icon, color="green" if is_new else "gray")


def _render_times(call: Invocation) -> None:
    parts = [(t("card.l0"), call.l0_ms), (t("card.embed"), call.embed_ms), (t("card.l1"), call.l1_ms)]
    shown = [f"{name} {milliseconds:.1f} ms" for name, milliseconds in parts if milliseconds is not None]
    if not call.l1_called and not call.error:
        shown.append(t("card.no_l1"))
    st.caption(":material/timer: " + " · ".join([*shown, f"{t('card.total')} {call.duration_ms:.1f} ms"]))


def marked_words(call: Invocation) -> list[str]:
    """What of a result the query asked for: the keywords that matched, and the words of the query."""
    matches = call.retrieval_details.get("l0_matches")
    keywords = [
        keyword
        for match in (matches if isinstance(matches, list) else [])
        if isinstance(match, dict)
        for keyword in _texts(match.get("keywords"))
    ]
    return [*keywords, *(token for token in content_tokens(call.query) if len(token) > 1)]


def _texts(value: JsonValue) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
