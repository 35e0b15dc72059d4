"""Uploads and reindexing while they run, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from kbapp.domain.errors import KbError
from kbapp.service.index_report import ChangeKind, IndexReport
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui import state
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.kb_jobs import Fate, FileOutcome, Job, Report
from kbapp.surfaces.ui.kb_rows import reason
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

JOB = "kb_job"
OUTCOME = "kb_outcome"
MAX_SHOWN = 50
_MOMENT = 0.4  # short work is done before a bar would be worth drawing

Done = tuple[FileOutcome, ...] | IndexReport | Exception
_SIGNS = {
    Fate.INDEXED: ":green[:material/check_circle:]",
    Fate.REPLACED: ":green[:material/published_with_changes:]",
    Fate.UNCHANGED: ":gray[:material/drag_handle:]",
    Fate.FAILED: ":red[:material/error:]",
    Fate.REFUSED: ":red[:material/block:]",
    Fate.EXISTS: ":orange[:material/block:]",
}


def is_working() -> bool:
    """Whether something of this tab is under way."""
    return JOB in st.session_state


def start(work: Callable[[Report], tuple[FileOutcome, ...] | IndexReport]) -> None:
    """Start a piece of work, once; the outcome of the one before goes."""
    if not is_working():
        st.session_state.pop(OUTCOME, None)
        st.session_state[JOB] = Job(work)


def render_work(kb: KnowledgeBase) -> None:
    """The bar of what runs, or what became of what ran last, until it is dismissed."""
    if is_working():
        _render_running()
        return
    done: Done | None = st.session_state.get(OUTCOME)
    if done is None:
        return
    with st.container(border=True):
        if isinstance(done, Exception):
            _render_error(done)
        elif isinstance(done, IndexReport):
            _render_report(done)
        else:
            _render_files(done)
        with st.container(horizontal=True):
            if isinstance(done, tuple):
                _render_way_on(kb, done)
            if st.button(t("kb.dismiss"), key="kb_dismiss", icon=":material/close:"):
                del st.session_state[OUTCOME]
                st.rerun()


@st.fragment(run_every=0.5)
def _render_running() -> None:
    job: Job[tuple[FileOutcome, ...] | IndexReport] | None = st.session_state.get(JOB)
    if job is None or job.wait(_MOMENT):
        if job is not None:
            st.session_state[OUTCOME] = job.error or job.outcome
            del st.session_state[JOB]
        st.rerun()
    progress = job.progress
    st.progress(
        min(progress.share, 1.0),
        text=t("kb.working", share=f"{progress.share:.0%}", name=plain(progress.name) or t("kb.comparing")),
    )


def _render_error(error: Exception) -> None:
    sentence = str(error) if isinstance(error, KbError) else t("error.unexpected", kind=type(error).__name__)
    st.error(sentence, icon=":material/error:")


def _render_files(outcomes: tuple[FileOutcome, ...]) -> None:
    stored = sum(outcome.fate in (Fate.INDEXED, Fate.REPLACED, Fate.UNCHANGED) for outcome in outcomes)
    st.markdown(f"**{t('kb.outcome_title', stored=stored, total=len(outcomes))}**")
    for outcome in outcomes[:MAX_SHOWN]:
        _render_file(outcome)
    _render_rest(len(outcomes))


def _render_file(outcome: FileOutcome) -> None:
    name = plain(outcome.path or outcome.name)
    lines = [f"{_SIGNS[outcome.fate]} **{t(f'kb.fate_{outcome.fate.value}')}** · {name}"]
    if outcome.fate in (Fate.INDEXED, Fate.REPLACED):
        lines[0] += f" · {t('kb.count_chunks', count=outcome.chunks)}"
    if outcome.fate is Fate.EXISTS:
        lines.append(t("kb.refused_exists"))
    if outcome.reason:
        lines.append(plain(outcome.reason))
    if outcome.fate is Fate.FAILED and outcome.path:
        lines.append(t("kb.stored_not_indexed"))
    if outcome.warning:
        lines.append(f":orange[:material/warning:] {plain(outcome.warning)}")
    if outcome.identical_to:
        lines.append(f":material/content_copy: {t('kb.identical', path=plain(outcome.identical_to))}")
    st.markdown("  \n".join(lines))


def _render_rest(count: int) -> None:
    if count > MAX_SHOWN:
        st.caption(t("kb.more", count=count - MAX_SHOWN))


def _render_way_on(kb: KnowledgeBase, outcomes: tuple[FileOutcome, ...]) -> None:
    """A lookup of a document that can be found now."""
    query = _query_for(kb, [outcome.path for outcome in outcomes if outcome.path and outcome.fate is not Fate.FAILED])
    if query and st.button(
        t("kb.look_up", query=plain(query)), key="kb_look_up", icon=":material/search:", type="primary"
    ):
        kb.lookup(query, session_id=state.session_id())
        st.switch_page(Page.SIMULATOR.value)


def _query_for(kb: KnowledgeBase, paths: Sequence[str]) -> str | None:
    """The first keyword of the first of these documents that has one, else a title."""
    entries = [entry for entry in kb.entries() if entry.path in paths]
    titles = [record.title for record in kb.documents() if record.path in paths]
    words = (word for entry in entries for word in entry.keywords)
    return next(words, None) or next(iter([*(entry.title for entry in entries), *titles]), None)


def _render_report(report: IndexReport) -> None:
    title = "kb.report_problems" if report.failed else "kb.report_title"
    st.markdown(f"**{t(title, documents=report.documents, chunks=report.chunks)}**")
    counts = " · ".join(t(f"kb.change_{kind.value}", count=report.count(kind)) for kind in ChangeKind)
    unchanged = t("kb.unchanged", count=report.unchanged)
    st.markdown(f"{unchanged} · {counts}  \n{t('kb.embedded', count=report.embedded, seconds=f'{report.seconds:.1f}')}")
    if report.former_model:
        st.info(t("kb.former_model", model=plain(report.former_model)), icon=":material/model_training:")
    for sign, problems in ((":red[:material/error:]", report.failed), (":orange[:material/warning:]", report.warnings)):
        for problem in problems[:MAX_SHOWN]:
            st.markdown(f"{sign} {plain(reason(problem.path, problem.error))}")
    _render_rest(max(len(report.failed), len(report.warnings)))
    changes = [change for change in report.changes if change.kind is not ChangeKind.FAILED]
    if changes:
        with st.expander(t("kb.changes", count=len(changes))):
            st.text("\n".join(_change(change.kind, change.path, change.detail) for change in changes[:200]))


def _change(kind: ChangeKind, path: str, detail: str | None) -> str:
    words = t(f"kb.did_{kind.value}")
    return f"{words}: {detail} → {path}" if kind is ChangeKind.RENAMED else f"{words}: {path}"
