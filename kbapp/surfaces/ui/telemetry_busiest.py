"""The sessions that called most; a click on one makes the page about it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from kbapp.domain.telemetry_summary import SessionCalls
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_filter import APPLIED, apply, local_text

TABLE = "telemetry_busiest"
_SHOWN = "telemetry_busiest_ids"
_ROW_HEIGHT = 35
_ROWS = 7


def render_busiest(sessions: Sequence[SessionCalls]) -> None:
    """The sessions in their order, with how many of their calls were repeats."""
    st.markdown(f"### {t('telemetry.chart_busiest')}")
    st.caption(t("telemetry.chart_busiest_note") if sessions else f":material/info: {t('telemetry.no_sessions')}")
    if not sessions:
        return
    st.session_state[_SHOWN] = [session.session_id for session in sessions]
    st.session_state[TABLE] = {"selection": {"rows": [], "columns": [], "cells": []}}
    rows = {
        t("telemetry.session"): [session.session_id for session in sessions],
        t("telemetry.calls"): [session.calls for session in sessions],
        t("telemetry.deduped"): [session.deduped for session in sessions],
        t("telemetry.last"): [local_text(session.last_at)[:16] for session in sessions],
    }
    st.dataframe(
        rows,
        hide_index=True,
        height=_ROW_HEIGHT * (min(len(sessions), _ROWS) + 1) + 3,
        key=TABLE,
        on_select=_follow_click,
        selection_mode="single-row",
        column_config={
            t("telemetry.session"): st.column_config.TextColumn(width=130),
            t("telemetry.calls"): st.column_config.NumberColumn(width=55),
            t("telemetry.deduped"): st.column_config.NumberColumn(width=75),
            t("telemetry.last"): st.column_config.TextColumn(width=125),
        },
        alt=t("telemetry.chart_busiest"),
    )


def _follow_click() -> None:
    chosen = st.session_state[TABLE]["selection"]["rows"]
    if chosen:
        apply(replace(st.session_state[APPLIED], session=st.session_state[_SHOWN][chosen[0]]))
