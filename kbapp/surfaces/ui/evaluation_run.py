"""An evaluation of this tab: its labels, the thread it runs in, and what came of it, whatever page is looked at."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from itertools import count, islice

import streamlit as st

from kbapp.domain.errors import KbError
from kbapp.domain.json_lines import FaultyLines
from kbapp.domain.labelled_queries import LabelledQuery
from kbapp.service.evaluation import QueryOutcome, evaluate, read_labels
from kbapp.service.evaluation_report import EvaluationReport, report_of
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.what_if import Case, cases_of
from kbapp.surfaces.ui.context import errors_as_sentences
from kbapp.surfaces.ui.evaluation_tables import render_table
from kbapp.surfaces.ui.kb_jobs import Job, Progress, Report
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_filter import local_zone

RUN = "evaluation_run"
RESULT = "evaluation_result"
FAULT = "evaluation_fault"  # of the labels, or of the run that broke off
SHOWN_LINES = 500  # wrong ones, with their reasons
_MOMENT = 0.4  # a short run is done before a bar would be worth drawing


@dataclass(frozen=True, slots=True)
class Labels:
    """A file of labelled queries as it was read; it is read again when it is run, for documents may go meanwhile."""

    name: str
    text: str
    queries: tuple[LabelledQuery, ...]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a run brought."""

    name: str
    ended: datetime
    cases: tuple[Case, ...]
    report: EvaluationReport


@dataclass(frozen=True, slots=True)
class Running:
    """A run that is under way; ``stop`` ends it after the query at hand."""

    labels: Labels
    job: Job[Evaluated]
    stop: threading.Event


class Stopped(KbError):
    """A person ended the run."""


def is_running() -> bool:
    """Whether a run of this tab is under way."""
    return RUN in st.session_state


def start(kb: KnowledgeBase, labels: Labels) -> None:
    """Run these queries, once; what is shown of the run before stays until this one is done."""
    if is_running():
        return
    st.session_state.pop(FAULT, None)
    stop, zone = threading.Event(), local_zone()

    def work(report: Report) -> Evaluated:
        cases = cases_of(_outcomes(kb, labels, report, stop))
        figures = report_of([case.outcome for case in cases])
        return Evaluated(labels.name, datetime.now(zone), cases, figures)

    st.session_state[RUN] = Running(labels, Job(work), stop)


def _outcomes(kb: KnowledgeBase, labels: Labels, report: Report, stop: threading.Event) -> tuple[QueryOutcome, ...]:
    queries = read_labels(labels.text, kb)
    done = count(1)

    def on_outcome(outcome: QueryOutcome) -> None:
        if stop.is_set():
            raise Stopped("the run was ended")
        report(Progress(next(done) / len(queries), outcome.label.query))

    return evaluate(kb, queries, on_outcome)


@st.fragment(run_every=0.5)
def render_running() -> None:
    """The bar of the run that is under way; when it is done, the page is drawn anew."""
    with errors_as_sentences():
        running: Running | None = st.session_state.get(RUN)
        if running is None or running.job.wait(_MOMENT):
            _keep(running)
            st.rerun()
        progress = running.job.progress
        total = len(running.labels.queries)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            text = t("evaluation.running", done=round(progress.share * total), total=total, query=plain(progress.name))
            st.progress(min(progress.share, 1.0), text=text)
            st.button(
                t("evaluation.stop"),
                key="evaluation_stop",
                icon=":material/stop_circle:",
                on_click=running.stop.set,
                disabled=running.stop.is_set(),
            )


def _keep(running: Running | None) -> None:
    """The outcome of a run; one that broke off leaves what was there before it."""
    if running is None:
        return
    del st.session_state[RUN]
    if running.job.outcome is not None:
        st.session_state[RESULT] = running.job.outcome
    elif not isinstance(running.job.error, Stopped):
        st.session_state[FAULT] = running.job.error


def render_fault(fault: Exception, name: str | None = None) -> None:
    """Every wrong line on a line of its own; anything else as its sentence."""
    if isinstance(fault, FaultyLines):
        total = len(fault.faults)
        st.error(t("evaluation.faults", count=total, name=plain(name or "")), icon=":material/error:")
        rows = [(str(line), reason) for line, reason in islice(fault.faults.items(), SHOWN_LINES)]
        heads = (t("evaluation.line"), t("evaluation.reason"))
        render_table(t("evaluation.faults_alt"), heads, rows, style="kb-faults")
        if total > SHOWN_LINES:
            st.caption(t("evaluation.more_faults", count=total - SHOWN_LINES))
    elif isinstance(fault, KbError):
        st.error(plain(str(fault)), icon=":material/error:")
    else:
        st.error(t("error.unexpected", kind=type(fault).__name__), icon=":material/error:")
