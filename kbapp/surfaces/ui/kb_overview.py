"""The head of the page: how many documents, what failed, reindexing; and the page without documents."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from kbapp.domain.documents import DocumentStatus
from kbapp.service.index_report import IndexProgress, IndexReport
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui import kb_work
from kbapp.surfaces.ui.kb_jobs import Progress, Report
from kbapp.surfaces.ui.kb_rows import Row, domains_of, reason
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

LOCK_WAIT_SECONDS = 60.0
MAX_FAILED = 5


def render_heading(kb: KnowledgeBase, rows: Sequence[Row]) -> None:
    """The sums, the button that reindexes, and the documents that failed with the reason."""
    chunks = sum(row.record.chunk_count for row in rows)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            t(
                "kb.sums",
                documents=len(rows),
                domains=len(domains_of(rows)),
                chunks=chunks,
                folder=plain(kb.base_folder),
            )
        )
        if st.button(
            t("kb.reindex"),
            key="kb_reindex",
            icon=":material/sync:",
            help=t("kb.reindex_help"),
            disabled=kb_work.is_working(),
        ):
            kb_work.start(lambda report: _reindex(kb, report))
            st.rerun()
    failed = [row for row in rows if row.record.status is DocumentStatus.FAILED]
    if failed:
        lines = [f"- {plain(reason(row.record.path, row.problem))}" for row in failed[:MAX_FAILED]]
        rest = [f"- {t('kb.more', count=len(failed) - MAX_FAILED)}"] if len(failed) > MAX_FAILED else []
        st.error("\n".join([t("kb.failed", count=len(failed)), "", *lines, *rest]), icon=":material/error:")


def render_first_scan(kb: KnowledgeBase) -> bool:
    """Says that the files are still being read, when they are; otherwise an empty table is an empty folder."""
    is_reading = bool(kb.entries()) or kb.following.scans == 0
    if is_reading:
        st.info(t("kb.first_scan", entries=len(kb.entries())), icon=":material/hourglass_top:")
    return is_reading


def render_empty(kb: KnowledgeBase) -> None:
    """No document yet: what to do next."""
    with st.container(border=True):
        st.markdown(f"### :material/library_books: {t('kb.empty_title')}")
        st.markdown(t("kb.empty", folder=plain(kb.base_folder)))
        st.caption(t("kb.empty_hint"))
        st.code(t("kb.empty_example"), language="markdown")


def _reindex(kb: KnowledgeBase, report: Report) -> IndexReport:
    def on_progress(done: IndexProgress) -> None:
        report(Progress(done.done / max(done.total, 1), done.path))

    return kb.reindex(on_progress, wait_seconds=LOCK_WAIT_SECONDS)
