"""The table of documents: search, filters, and which document is selected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from kbapp.domain.documents import DocumentStatus
from kbapp.surfaces.ui.kb_rows import SIGNS, Row, RowFilter, domains_of, matching
from kbapp.surfaces.ui.state import t

SELECTED = "kb_selected"
TABLE = "kb_table"
DOCUMENT_PARAMETER = "document"
_SHOWN = "kb_shown_paths"
_ROW_HEIGHT = 35
_MAX_ROWS = 10


def selected_path(rows: Sequence[Row], base_folder: str) -> str | None:
    """The selected document: the one that the URL names, as after a click or by a link, else the last one.

    A link may name it by its path or by its source.
    """
    named = st.query_params.get(DOCUMENT_PARAMETER)
    if named:
        is_path = any(row.record.path == named for row in rows)
        select(named if is_path else named.removeprefix(f"{base_folder}/"))
    selected: str | None = st.session_state.get(SELECTED)
    return selected


def select(path: str | None) -> None:
    """Select a document, or none."""
    st.session_state[SELECTED] = path
    if path:
        st.query_params[DOCUMENT_PARAMETER] = path
    else:
        st.query_params.pop(DOCUMENT_PARAMETER, None)


def status_text(status: DocumentStatus) -> str:
    """A status as sign and word."""
    return f"{SIGNS[status]} {t(f'kb.status_{status.value}')}"


def local_time(moment: datetime) -> datetime:
    """The moment on the clock of the browser, as far as it tells."""
    try:
        return moment.astimezone(ZoneInfo(st.context.timezone or "UTC"))
    except (ZoneInfoNotFoundError, ValueError):
        return moment


def render_table(rows: Sequence[Row], base_folder: str) -> None:
    """Filters, the number of rows that pass, and the rows; a click on one selects it."""
    shown = matching(rows, _render_filters(rows))
    st.caption(t("kb.shown", shown=len(shown), total=len(rows)), help=t("kb.table_help"))
    if not shown:
        st.info(t("kb.none_match"), icon=":material/filter_alt_off:")
        return
    st.session_state[_SHOWN] = paths = [row.record.path for row in shown]
    selected = selected_path(rows, base_folder)
    at = [paths.index(selected)] if selected in paths else []
    st.session_state[TABLE] = {"selection": {"rows": at, "columns": [], "cells": []}}
    st.dataframe(
        _columns(shown),
        key=TABLE,
        on_select=_follow_click,
        selection_mode="single-row",
        hide_index=True,
        height=_ROW_HEIGHT * (min(len(shown), _MAX_ROWS) + 1) + 3,
        row_height=_ROW_HEIGHT,
        column_config=_config(),
        alt=t("kb.table_alt"),
    )


def _follow_click() -> None:
    rows = st.session_state[TABLE]["selection"]["rows"]
    select(st.session_state[_SHOWN][rows[0]] if rows else None)


def _render_filters(rows: Sequence[Row]) -> RowFilter:
    search, domain, status = st.columns([2, 1, 1])
    text = search.text_input(
        t("kb.search"), key="kb_search", placeholder=t("kb.search_example"), icon=":material/search:"
    )
    domains = domain.multiselect(t("kb.domain"), domains_of(rows), key="kb_domains", placeholder=t("kb.all"))
    statuses = status.multiselect(
        t("kb.status"), list(DocumentStatus), format_func=status_text, key="kb_statuses", placeholder=t("kb.all")
    )
    return RowFilter(text, tuple(domains), tuple(statuses))


def _columns(rows: Sequence[Row]) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {
        "status": [status_text(row.record.status) for row in rows],
        "domain": [row.domain for row in rows],
        "title": [row.record.title for row in rows],
        "keywords": [", ".join(row.keywords) for row in rows],
        "chunks": [row.record.chunk_count for row in rows],
        "changed": [local_time(row.changed).strftime("%Y-%m-%d %H:%M") for row in rows],
        "path": [row.record.path for row in rows],
    }
    if any(row.problem for row in rows):
        columns["problem"] = [row.problem for row in rows]
    return columns


def _config() -> dict[str, ColumnConfig]:
    config = st.column_config
    return {
        "status": config.TextColumn(t("kb.status"), width=90),
        "domain": config.TextColumn(t("kb.domain"), width=110),
        "title": config.TextColumn(t("kb.title"), width="medium"),
        "path": config.TextColumn(t("kb.file"), width="medium"),
        "keywords": config.TextColumn(t("kb.keywords"), width="medium"),
        "chunks": config.NumberColumn(t("kb.chunks"), width=70),
        "changed": config.TextColumn(t("kb.changed"), width=125),
        "problem": config.TextColumn(t("kb.problem"), width="medium"),
    }
