"""A scripted task: choose it, run it three ways, see what is saved, and look at it step by step."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.tasks import Task
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.observed_run import COMPARED_WAYS, ObservedRun, compare
from kbapp.surfaces.ui.context import errors_as_sentences
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.scripted_picture import render_picture, render_savings
from kbapp.surfaces.ui.scripted_steps import render_chosen, render_controls, render_table, show_all, shown_steps
from kbapp.surfaces.ui.scripted_tasks import render_own_tasks, tasks_to_choose
from kbapp.surfaces.ui.scripted_ways_on import render_export, render_sessions
from kbapp.surfaces.ui.simulator_chat import POLICY
from kbapp.surfaces.ui.simulator_memory import render_policy
from kbapp.surfaces.ui.state import t

TASK = "simulator_task"
RESULT = "simulator_runs"  # the three runs of the last press, for the reruns after it


def render_scripted(kb: KnowledgeBase) -> None:
    """The choice, and below it what came of the last run."""
    st.caption(t("scripted.intro"))
    with st.container(border=True, key="simulator_choice"):
        task, pressed = _render_choice(kb)
        progress = st.empty()
    render_own_tasks(kb, expanded=task is None)
    if task and pressed:
        with progress:
            _run(kb, task)
        st.rerun()
    runs: tuple[ObservedRun, ...] = st.session_state.get(RESULT, ())
    if runs:
        st.fragment(_render_result)(kb, runs)
    elif task:
        st.info(t("scripted.begin"), icon=":material/play_circle:")


def _render_choice(kb: KnowledgeBase) -> tuple[Task | None, bool]:
    tasks = tasks_to_choose(kb)
    if not tasks:
        st.info(t("scripted.empty"), icon=":material/assignment:")
        return None, False
    label = st.selectbox(
        t("scripted.task"), list(tasks), help=t("scripted.task_help"), key=TASK, persist_state="session"
    )
    task = tasks[label]
    key = "scripted.plan" if task.needed else "scripted.plan_free"
    st.caption(t(key, steps=len(task.steps), needed=", ".join(map(plain, task.needed))))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        render_policy(kb)
        pressed = st.button(t("scripted.run"), key="simulator_run", type="primary", icon=":material/play_arrow:")
    return task, pressed


def _run(kb: KnowledgeBase, task: Task) -> None:
    """Run it; a press is the only way here, so that a rerun repeats nothing."""
    steps = len(task.steps)
    bar = st.progress(0.0)

    def show(run: ObservedRun) -> None:
        step = len(run.entries)
        done = (COMPARED_WAYS.index(run.way) * steps + step) / (len(COMPARED_WAYS) * steps)
        bar.progress(done, text=t("scripted.running", way=t(f"scripted.way.{run.way}"), step=step, steps=steps))

    policy = DomainPolicy(st.session_state.get(POLICY) or kb.domain_policy)
    st.session_state[RESULT] = compare(kb, task, policy, show)
    show_all()


def _render_result(kb: KnowledgeBase, runs: Sequence[ObservedRun]) -> None:
    """A fragment: what is clicked here concerns the result alone."""
    with errors_as_sentences():
        steps = shown_steps(runs)
        render_savings(runs)
        with st.container(border=True):
            render_picture(runs, steps)
        with st.container(border=True, key="simulator_steps"):
            st.markdown(f"**{t('scripted.steps')}**")
            render_controls(runs)
            render_table(runs, steps)
            render_chosen(kb, runs, steps)
        with st.container(border=True):
            render_sessions(runs)
            render_export(runs, "scripted")
