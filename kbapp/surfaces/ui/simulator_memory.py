"""Beside the chat: what the session was given, by domain and document, and what can be done with the session."""

from __future__ import annotations

import json
from collections.abc import Sequence

import streamlit as st

from kbapp.domain.action_memory import DomainPolicy, SessionMemory
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.session_transcript import session_to_dict, session_to_markdown
from kbapp.prompts import executor_prompt
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui import state
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.simulator_chat import POLICY, numbers_of
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.texts import Language


def render_memory(kb: KnowledgeBase, calls: Sequence[Invocation]) -> None:
    """The action memory, and the controls of the session."""
    memory = kb.session(state.session_id())
    with st.container(key="simulator_memory", border=True):
        st.header(f":material/history: {t('simulator.memory')}", anchor=False)
        _render_figures(calls, memory)
        _render_domains(memory, numbers_of(calls))
    _render_session(kb, calls)
    render_policy(kb)
    with st.expander(t("simulator.prompt"), icon=":material/article:"):
        st.caption(t("simulator.prompt_note"))
        st.code(executor_prompt("zh" if state.language() is Language.CHINESE else "en"), language=None, wrap_lines=True)


def _render_figures(calls: Sequence[Invocation], memory: SessionMemory) -> None:
    counted = _since_clear(calls)
    blocked = sum(call.relevance_level is RelevanceLevel.DEDUPED for call in counted)
    given = sum(len(documents) for documents in memory.documents.values())
    st.markdown(t("simulator.figures", calls=len(numbers_of(counted)), given=given, blocked=blocked))


def _since_clear(calls: Sequence[Invocation]) -> Sequence[Invocation]:
    """The calls that the memory holds: those after the last clear."""
    clears = [index for index, call in enumerate(calls) if call.tool_name == CLEAR_TOOL_NAME]
    return calls[clears[-1] + 1 :] if clears else calls


def _render_domains(memory: SessionMemory, numbers: dict[str, int]) -> None:
    if not memory.domains:
        st.caption(t("simulator.memory_empty"))
    lines: list[str] = []
    for domain, documents in memory.documents.items():
        lines.append(f"- :material/folder: **{plain(domain)}**")
        if not documents:
            lines.append(f"    - {t('simulator.mentioned')}")
        lines += [f"    - {line}" for document in documents for line in _document_lines(memory, document, numbers)]
    st.markdown("\n".join(lines))


def _document_lines(memory: SessionMemory, document: str, numbers: dict[str, int]) -> list[str]:
    links = [
        f"[{look.icon} #{numbers[call.invocation_id]}](#call-{call.invocation_id})"
        for call in memory.calls
        for text in call.given
        if text.document == document and call.invocation_id in numbers and (look := LOOKS[text.level])
    ]
    name = document.removeprefix(f"{document.partition('/')[0]}/") if "/" in document else document
    return [f"{plain(name)} ← {' '.join(links) or '–'}"]


def _render_session(kb: KnowledgeBase, calls: Sequence[Invocation]) -> None:
    with st.container(horizontal=True, gap="small"):
        if st.button(t("simulator.new_session"), icon=":material/add_comment:", key="simulator_new"):
            state.begin_session()
            st.rerun()
        is_empty = not calls
        if st.button(t("simulator.clear"), icon=":material/mop:", key="simulator_clear", disabled=is_empty):
            kb.clear_session(state.session_id())
            st.rerun()
        with st.popover(t("simulator.export"), icon=":material/download:", disabled=is_empty):
            _render_export(calls)


def _render_export(calls: Sequence[Invocation]) -> None:
    session = state.session_id()
    as_json = json.dumps(session_to_dict(session, calls), ensure_ascii=False, indent=2)
    for name, text, mime in (
        ("json", as_json, "application/json"),
        ("md", session_to_markdown(session, calls), "text/markdown"),
    ):
        st.download_button(
            t(f"simulator.export_{name}"),
            text,
            file_name=f"{_file_name(session)}.{name}",
            mime=mime,
            key=f"simulator_export_{name}",
            on_click="ignore",
        )


def _file_name(session: str) -> str:
    return "".join(character if character.isalnum() or character in "-_" else "_" for character in session)[:60]


def render_policy(kb: KnowledgeBase) -> None:
    """What happens when a domain is asked for again, for the calls of this tab."""
    st.segmented_control(
        t("simulator.policy"),
        list(DomainPolicy),
        default=kb.domain_policy,
        required=True,
        format_func=lambda policy: t(f"simulator.policy_{policy}"),
        help=t("simulator.policy_help"),
        key=POLICY,
        persist_state="session",
    )
