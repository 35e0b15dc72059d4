"""The calls as a table, page by page, with all of the one that is selected, and as a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from kbapp.domain.invocation import Invocation
from kbapp.domain.telemetry_export import csv_lines, json_lines
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.card import render_card
from kbapp.surfaces.ui.context import errors_as_sentences
from kbapp.surfaces.ui.levels import LOOKS, look_of
from kbapp.surfaces.ui.state import language, t
from kbapp.surfaces.ui.telemetry_filter import CallFilter, local_text, outcome_name
from kbapp.surfaces.ui.texts import Language

PAGE_SIZE = 25
EXPORT_ROWS = 20_000
TABLE = "telemetry_rows"
PAGE_NUMBER = "telemetry_page"
SELECTED = "telemetry_selected"
_SHOWN = "telemetry_shown_ids"
_OF = "telemetry_page_of"
_ROW_HEIGHT = 35
_VISIBLE_ROWS = 12


@dataclass(frozen=True, slots=True)
class Listing:
    """The calls that the table pages through; ``now`` is when the figures above it were computed."""

    chosen: CallFilter
    total: int
    now: datetime

    @property
    def pages(self) -> int:
        """How many pages the rows fill."""
        return max(1, -(-self.total // PAGE_SIZE))


@st.fragment
def render_table(kb: KnowledgeBase, listing: Listing) -> None:
    """A page of the table; paging and selecting concern this part of the screen alone."""
    with errors_as_sentences():
        _stay_within(listing)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.header(t("telemetry.table"), anchor=False, width="stretch")
            _render_export(kb, listing)
        offset = (st.session_state[PAGE_NUMBER] - 1) * PAGE_SIZE
        rows = list(kb.invocations(listing.chosen.wanted(listing.now, limit=PAGE_SIZE, offset=offset)))
        last = offset + len(rows)
        st.markdown(
            t("telemetry.rows", first=f"{min(offset + 1, last):,}", last=f"{last:,}", total=f"{listing.total:,}")
        )
        _render_rows(rows)
        _render_paging(listing)
        _render_selected(kb, rows)


def _stay_within(listing: Listing) -> None:
    """Another filter begins at its first page; a page that is gone is the last one."""
    if st.session_state.get(_OF) != listing.chosen or PAGE_NUMBER not in st.session_state:
        st.session_state[_OF] = listing.chosen
        st.session_state[PAGE_NUMBER] = 1
    st.session_state[PAGE_NUMBER] = min(st.session_state[PAGE_NUMBER], listing.pages)


def _render_paging(listing: Listing) -> None:
    page: int = st.session_state[PAGE_NUMBER]
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="center", gap="small"):
        _render_turn("previous", -1, ":material/chevron_left:", is_end=page <= 1)
        label = t("telemetry.page")
        st.number_input(label, 1, listing.pages, key=PAGE_NUMBER, label_visibility="collapsed", width=110, step=1)
        st.caption(t("telemetry.pages", pages=f"{listing.pages:,}"), width="content")
        _render_turn("next", 1, ":material/chevron_right:", is_end=page >= listing.pages)


def _render_turn(name: str, pages: int, icon: str, *, is_end: bool) -> None:
    label = t("telemetry.previous") if pages < 0 else t("telemetry.next")
    st.button(label, icon=icon, key=f"telemetry_{name}", on_click=_turn, args=(pages,), disabled=is_end)


def _turn(pages: int) -> None:
    st.session_state[PAGE_NUMBER] += pages


def _render_export(kb: KnowledgeBase, listing: Listing) -> None:
    with st.popover(t("telemetry.export"), icon=":material/download:"):
        st.caption(t("telemetry.export_note", limit=f"{EXPORT_ROWS:,}"))
        for name, lines, mime in (("csv", csv_lines, "text/csv"), ("json", json_lines, "application/json")):
            st.download_button(
                t(f"telemetry.export_{name}"),
                _file(kb, listing, lines),
                file_name=f"telemetry-{listing.now:%Y%m%d-%H%M%S}.{name}",
                mime=mime,
                icon=":material/download:",
                key=f"telemetry_export_{name}",
                on_click="ignore",
            )


def _file(
    kb: KnowledgeBase, listing: Listing, lines: Callable[[Iterable[Invocation]], Iterator[str]]
) -> Callable[[], bytes]:
    """Made when the button is pressed, not at every rerun."""
    wanted = listing.chosen.wanted(listing.now, limit=EXPORT_ROWS)
    return lambda: b"".join(line.encode("utf-8", "replace") for line in lines(kb.invocations(wanted)))


def _render_rows(rows: Sequence[Invocation]) -> None:
    st.session_state[_SHOWN] = ids = [row.id for row in rows]
    selected = st.session_state.get(SELECTED)
    at = [ids.index(selected)] if selected in ids else []
    st.session_state[TABLE] = {"selection": {"rows": at, "columns": [], "cells": []}}
    st.dataframe(
        _columns(rows),
        key=TABLE,
        on_select=_follow_click,
        selection_mode="single-row",
        hide_index=True,
        height=_ROW_HEIGHT * (min(len(rows), _VISIBLE_ROWS) + 1) + 3,
        row_height=_ROW_HEIGHT,
        column_config=_config(),
        alt=t("telemetry.table"),
    )


def _follow_click() -> None:
    chosen = st.session_state[TABLE]["selection"]["rows"]
    st.session_state[SELECTED] = st.session_state[_SHOWN][chosen[0]] if chosen else None


def _columns(rows: Sequence[Invocation]) -> dict[str, list[object]]:
    return {
        "time": [local_text(row.created_at)[5:] for row in rows],
        "answer": [[look_of(row).name] for row in rows],
        "outcome": [outcome_name(row.outcome) for row in rows],
        "query": [row.query for row in rows],
        "session": [row.session_id or "" for row in rows],
        "l0": [row.l0_match_count for row in rows],
        "l1": ["✓" if row.l1_called else "–" for row in rows],
        "similarity": [_similarity(row) for row in rows],
        "ms": [row.duration_ms for row in rows],
    }


def _similarity(row: Invocation) -> str:
    value = row.retrieval_details.get("l1_top_similarity")
    return f"{value:.3f}" if isinstance(value, float) else "–"


def _config() -> dict[str, ColumnConfig]:
    config = st.column_config
    looks = {look.name: look.colour for look in LOOKS.values()} | {t("level.error"): "red"}
    widest = 195 if language() is Language.CHINESE else 145  # HIGHLY_RELEVANT 高度相关
    return {
        "time": config.TextColumn(t("telemetry.column_time"), width=120),
        "answer": config.MultiselectColumn(
            t("telemetry.column_answer"), options=list(looks), color=list(looks.values()), width=widest
        ),
        "outcome": config.TextColumn(t("telemetry.column_outcome"), width=75),
        "query": config.TextColumn(t("telemetry.query"), width=360 - widest),
        "session": config.TextColumn(t("telemetry.session"), width=95),
        "l0": config.NumberColumn(t("telemetry.column_l0"), width=62),
        "l1": config.TextColumn(t("telemetry.column_l1"), width=38),
        "similarity": config.TextColumn(t("telemetry.column_similarity"), width=80),
        "ms": config.NumberColumn(t("telemetry.column_ms"), format="%.1f", width=65),
    }


def _render_selected(kb: KnowledgeBase, rows: Sequence[Invocation]) -> None:
    row = next((row for row in rows if row.id == st.session_state.get(SELECTED)), None)
    if row is None:
        st.caption(f":material/ads_click: {t('telemetry.table_note')}")
        return
    with st.container(key="telemetry_detail"):
        card, raw = st.columns([1.5, 1])
    with card:
        st.markdown(f"### {t('telemetry.detail')}")
        render_card(kb, row)
    with raw:
        st.markdown(f"### {t('telemetry.raw')}")
        st.json(json.dumps(row.to_dict(), ensure_ascii=False), expanded=1)
