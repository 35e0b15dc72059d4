"""A language model as the executor: a goal, its calls as they happen, its answer; or how to set one up."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from kbapp.bootstrap import open_executor
from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.errors import UserError
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import ExecutorKind
from kbapp.service.executor import Executor
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.observed_run import ObservedRun, ObservedTool, RunPlan, Way, observe, shelf_of
from kbapp.settings import Settings
from kbapp.surfaces.ui.context import CONFIG_VARIABLE
from kbapp.surfaces.ui.llm_transcript import numbers_of, render_run, render_setup
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.scripted_steps import render_entry
from kbapp.surfaces.ui.scripted_tasks import tasks_to_choose
from kbapp.surfaces.ui.simulator_chat import POLICY
from kbapp.surfaces.ui.simulator_memory import render_policy
from kbapp.surfaces.ui.state import t

GOAL = "simulator_goal"
GOAL_TASK = "simulator_goal_task"
RESULT = "simulator_llm_run"  # the last run as far as it came, also when it was interrupted


def render_llm(kb: KnowledgeBase) -> None:
    """The goal, and below it the run; without an endpoint, what to set."""
    st.caption(t("llm.intro"))
    policy = DomainPolicy(st.session_state.get(POLICY) or kb.domain_policy)
    tool = ObservedTool(kb, policy)
    try:
        settings = _settings()
        executor = open_executor(ExecutorKind.LLM, kb, settings, tool)
    except UserError as error:
        render_setup(str(error))
        return
    tasks = tasks_to_choose(kb)
    pressed = _render_goal(kb, tasks, f"{settings.llm.model} · {urlsplit(settings.llm.base_url).netloc}")
    place = st.empty()
    goal = str(st.session_state.get(GOAL) or "").strip()
    if pressed and goal:
        task = next((task for task in tasks.values() if task.goal == goal), Task("goal", goal, (), ()))
        with place.container():
            _run(kb, executor, tool, RunPlan(Way.LLM, replace(task, steps=()), policy, shelf_of(kb)))
        st.rerun()
    with place.container():
        if pressed:
            st.warning(t("llm.goal_missing"), icon=":material/edit:")
        run: ObservedRun | None = st.session_state.get(RESULT)
        if run:
            render_run(kb, run)
        else:
            st.info(t("llm.begin"), icon=":material/smart_toy:")


def _settings() -> Settings:
    config = os.environ.get(CONFIG_VARIABLE)
    return Settings.load(Path(config) if config else None)


def _render_goal(kb: KnowledgeBase, tasks: dict[str, Task], model: str) -> bool:
    with st.container(border=True, key="simulator_goal_card"):
        if tasks:
            st.selectbox(
                t("llm.from_task"),
                list(tasks),
                index=None,
                placeholder=t("llm.from_task_placeholder"),
                key=GOAL_TASK,
                on_change=_take_goal,
                args=(tasks,),
            )
        st.text_area(t("llm.goal"), placeholder=t("llm.goal_placeholder"), key=GOAL, height=80, persist_state="session")
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
            render_policy(kb)
            pressed = st.button(t("llm.run"), key="simulator_llm_start", type="primary", icon=":material/play_arrow:")
        st.caption(f":material/smart_toy: {t('llm.model', name=plain(model))}")
    return pressed


def _take_goal(tasks: dict[str, Task]) -> None:
    chosen = tasks.get(st.session_state[GOAL_TASK])
    if chosen:
        st.session_state[GOAL] = chosen.goal


def _run(kb: KnowledgeBase, executor: Executor, tool: ObservedTool, plan: RunPlan) -> None:
    """Run it; each call is shown as it happens, and kept, should the run be interrupted."""
    status = st.empty()
    cards = st.container()
    status.info(t("llm.working", calls=0), icon=":material/hourglass_top:")
    interrupted = t("llm.interrupted")
    st.session_state.pop(RESULT, None)

    def show(run: ObservedRun) -> None:
        st.session_state[RESULT] = replace(run, fault=interrupted)
        status.info(t("llm.working", calls=len(run.entries)), icon=":material/hourglass_top:")
        with cards:
            render_entry(kb, run, run.entries[-1], numbers_of(run))

    st.session_state[RESULT] = observe(executor, tool, plan, show)
