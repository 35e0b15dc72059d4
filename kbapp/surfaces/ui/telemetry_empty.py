"""The page when there is nothing to show."""

from __future__ import annotations

import streamlit as st

from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.telemetry_filter import CallFilter


def render_empty(chosen: CallFilter) -> None:
    """No call at all: where to make one. None that passes: the form above is the way out."""
    if chosen != CallFilter():
        st.info(t("telemetry.none_match"), icon=":material/filter_alt_off:")
        return
    with st.container(border=True):
        st.markdown(f":material/monitoring: {t('telemetry.empty')}")
        st.page_link(Page.SIMULATOR.value, label=t("telemetry.to_simulator"), icon=Page.SIMULATOR.icon)
