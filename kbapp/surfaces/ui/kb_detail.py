"""One document: its text, frontmatter, chunks, the sessions it was given in, and its deletion."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from kbapp.domain.documents import source_of
from kbapp.domain.errors import UserError
from kbapp.domain.invocation import Invocation
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui import kb_work
from kbapp.surfaces.ui.context import Page, errors_as_sentences
from kbapp.surfaces.ui.kb_parts import render_body, render_chunks, render_frontmatter
from kbapp.surfaces.ui.kb_rows import Row
from kbapp.surfaces.ui.kb_table import local_time, select, selected_path, status_text
from kbapp.surfaces.ui.levels import look_of
from kbapp.surfaces.ui.quoted import code, plain
from kbapp.surfaces.ui.state import t

NOTICE = "kb_deleted"
ASKED = "kb_asked_to_delete"
TABS = "kb_tabs"
SHOWN_CALLS = 50


def render_detail(kb: KnowledgeBase, rows: Sequence[Row]) -> None:
    """The selected document, or how to select one."""
    path = selected_path(rows, kb.base_folder)
    if path is None:
        st.caption(f":material/touch_app: {t('kb.select')}")
        return
    row = next((row for row in rows if row.record.path == path), None)
    if row is None:
        _forget_question()
        st.warning(t("kb.unknown", path=plain(path)), icon=":material/help:")
        return
    with st.container(border=True):
        _render_head(kb, row)
        _render_tabs(kb, row)


def render_notice() -> None:
    """That a document was deleted, once."""
    path = st.session_state.pop(NOTICE, None)
    if path:
        st.success(t("kb.deleted", path=plain(path)), icon=":material/delete:")


def _render_head(kb: KnowledgeBase, row: Row) -> None:
    record = row.record
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(plain(record.title), anchor=False)
        if st.button(t("kb.delete"), key="kb_delete", icon=":material/delete:", disabled=kb_work.is_working()):
            st.session_state[ASKED] = record.path
    facts = [
        status_text(record.status),
        plain(source_of(kb.base_folder, record.path)),
        t("kb.count_chunks", count=record.chunk_count),
        t("kb.changed_at", when=f"{local_time(row.changed):%Y-%m-%d %H:%M}"),
    ]
    st.caption(" · ".join(facts))
    if st.session_state.get(ASKED) == record.path:
        _ask_to_delete(kb, row)
    if record.error:
        st.error(f"{t('kb.failed_because')} {plain(record.error)}", icon=":material/error:")
        st.caption(t("kb.failed_way_out"))
    if record.warning:
        st.warning(plain(record.warning), icon=":material/warning:")


def _ask_to_delete(kb: KnowledgeBase, row: Row) -> None:
    @st.dialog(t("kb.delete_title"), icon=":material/delete:", on_dismiss=_forget_question)
    def dialog() -> None:
        record = row.record
        st.markdown(f"**{plain(record.title)}**  \n{plain(source_of(kb.base_folder, record.path))}")
        st.markdown(t("kb.delete_what", chunks=record.chunk_count))
        with st.container(horizontal=True, horizontal_alignment="right"):
            keep = st.button(t("kb.keep"), key="kb_delete_no")
            delete = st.button(t("kb.delete_yes"), key="kb_delete_yes", type="primary", icon=":material/delete:")
        if keep or delete:
            _forget_question()
        if delete:
            with errors_as_sentences():
                st.session_state[NOTICE] = kb.delete(record.path).path
            select(None)
        if keep or delete:
            st.rerun()

    dialog()


def _forget_question() -> None:
    st.session_state.pop(ASKED, None)


def _render_tabs(kb: KnowledgeBase, row: Row) -> None:
    """Only the open tab is filled: reading a file, or the telemetry, has its price."""
    labels = [
        t("kb.tab_text"),
        t("kb.tab_frontmatter"),
        t("kb.tab_chunks", count=row.record.chunk_count),
        t("kb.tab_given"),
    ]
    fill = (_render_text, _render_frontmatter, _render_stored_chunks, _render_given)
    for tab, render in zip(st.tabs(labels, key=TABS, on_change="rerun"), fill, strict=True):
        if tab.open:
            with tab:
                render(kb, row.record.path)


def _render_text(kb: KnowledgeBase, path: str) -> None:
    try:
        render_body(kb.document(path))
    except UserError as error:
        st.error(plain(str(error)), icon=":material/error:")


def _render_frontmatter(kb: KnowledgeBase, path: str) -> None:
    try:
        render_frontmatter(kb.document(path))
    except UserError as error:
        st.error(plain(str(error)), icon=":material/error:")


def _render_stored_chunks(kb: KnowledgeBase, path: str) -> None:
    st.caption(t("kb.chunks_note"))
    render_chunks([stored.chunk for stored in kb.chunks(path)], f"kb_chunks_page_{path}")


def _render_given(kb: KnowledgeBase, path: str) -> None:
    calls = kb.given_in(path, limit=SHOWN_CALLS)
    if not calls:
        st.info(t("kb.never_given"), icon=":material/forum:")
        return
    st.caption(t("kb.given_note", count=SHOWN_CALLS))
    by_session: dict[str | None, list[Invocation]] = {}
    for call in calls:
        by_session.setdefault(call.session_id, []).append(call)
    for session, given in by_session.items():
        with st.container(border=True, gap="xxsmall"):
            _render_session(session, given)


def _render_session(session: str | None, calls: Sequence[Invocation]) -> None:
    if session is None:
        st.markdown(f"**{t('kb.no_session')}**")
    else:
        st.page_link(
            Page.SIMULATOR.value,
            label=f"**{t('kb.session', session=plain(session))}**",
            icon=":material/forum:",
            query_params={"session": session},
        )
    for call in calls:
        look = look_of(call)
        when = local_time(datetime.fromisoformat(call.created_at))
        badge = f":{look.colour}-badge[{look.icon} {look.name}]"
        st.markdown(f"{when:%Y-%m-%d %H:%M:%S} {badge} {plain(call.query)} {code(call.id)}")
