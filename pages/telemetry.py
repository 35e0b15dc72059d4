"""Telemetry: what the calls were answered with, how fast, and why."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from kbapp.surfaces.ui.context import Page, open_page
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_empty import render_empty
from kbapp.surfaces.ui.telemetry_filter import adopt_url, local_zone, render_filter
from kbapp.surfaces.ui.telemetry_overview import render_charts, render_figures
from kbapp.surfaces.ui.telemetry_sql import render_sql
from kbapp.surfaces.ui.telemetry_table import Listing, render_table

adopt_url()
with open_page(Page.TELEMETRY) as kb:
    st.title(Page.TELEMETRY.label, anchor=False)
    st.caption(t("telemetry.intro"))
    chosen = render_filter(kb)
    now = datetime.now(local_zone())
    offset = now.utcoffset()
    summary = kb.telemetry_summary(chosen.wanted(now), utc_offset_seconds=int(offset.total_seconds()) if offset else 0)
    if summary.calls:
        render_figures(summary)
        render_charts(summary, kb.overview().thresholds, [record.path for record in kb.documents()])
        render_table(kb, Listing(chosen, summary.calls, now))
    else:
        render_empty(chosen)
    render_sql(kb)
