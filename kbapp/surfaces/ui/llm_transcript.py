"""What a language model did as an executor: figures, calls, answer; and what to set where there is none."""

from __future__ import annotations

import streamlit as st

from kbapp.adapters.chat_endpoint import INSTALL
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.observed_run import ObservedRun
from kbapp.surfaces.ui.quoted import plain, render_quoted
from kbapp.surfaces.ui.scripted_steps import render_entry
from kbapp.surfaces.ui.scripted_ways_on import render_export, render_sessions
from kbapp.surfaces.ui.state import t

SETTINGS = "KBAPP_LLM__BASE_URL=http://127.0.0.1:11434/v1\nKBAPP_LLM__MODEL=qwen3:8b"
KEY_SETTING = "KBAPP_LLM__API_KEY=…"


def render_setup(reason: str) -> None:
    """What is missing, and how to set it."""
    with st.container(border=True, key="simulator_llm_setup"):
        st.header(f":material/smart_toy: {t('llm.unset')}", anchor=False)
        st.warning(plain(reason), icon=":material/settings:")
        st.markdown(t("llm.unset_how"))
        for key, text in (("extra", INSTALL), ("settings", SETTINGS), ("key", KEY_SETTING)):
            st.markdown(t(f"llm.unset_{key}"))
            st.code(text, language="bash")


def numbers_of(run: ObservedRun) -> dict[str, int]:
    """The number of each call, from 1, by its row."""
    rows = [row for entry in run.entries if (row := run.row_of(entry))]
    return {row.id: number for number, row in enumerate(rows, 1)}


def render_run(kb: KnowledgeBase, run: ObservedRun) -> None:
    """The run as far as it came."""
    st.header(plain(run.task.goal), anchor=False)
    _render_figures(run)
    if run.fault:
        st.error(plain(run.fault), icon=":material/error:")
    if run.outcome.transcript.answer:
        with st.container(border=True, key="simulator_llm_answer"):
            st.markdown(f"**:material/smart_toy: {t('llm.answer')}**")
            render_quoted(run.outcome.transcript.answer)
            st.caption(t("llm.answer_note"))
    st.markdown(f"**{t('llm.calls')}**")
    if not run.entries:
        st.caption(t("llm.no_calls"))
    numbers = numbers_of(run)
    for entry in run.entries:
        render_entry(kb, run, entry, numbers)
    with st.container(border=True):
        render_sessions([run])
        render_export([run], "llm")


def _render_figures(run: ObservedRun) -> None:
    figures = run.figures()
    line = t(
        "llm.figures",
        calls=figures.calls,
        content=figures.calls_with_content,
        blocked=sum(figures.repeats_blocked.values()),
        characters=f"{figures.characters_given:,}",
        twice=f"{figures.characters_given_twice:,}",
    )
    if figures.needed:
        line += f" · {t('scripted.bar_covered', covered=figures.needed_covered, needed=figures.needed)}"
    st.markdown(line)
