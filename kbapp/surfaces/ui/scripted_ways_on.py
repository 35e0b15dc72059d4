"""After a run: its transcripts as files, and its sessions as a chat and in the telemetry."""

from __future__ import annotations

import json
from collections.abc import Sequence

import streamlit as st

from kbapp.service.observed_run import ObservedRun
from kbapp.service.run_transcripts import runs_to_dict, runs_to_markdown
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.quoted import code
from kbapp.surfaces.ui.scripted_mode import PARAMETER, Mode
from kbapp.surfaces.ui.state import t


def render_export(runs: Sequence[ObservedRun], key: str) -> None:
    """Both forms of the transcripts; ``key`` tells the buttons of one place from another's."""
    with st.popover(t("scripted.export"), icon=":material/download:"):
        name = _file_name(runs[0].task.id)
        st.download_button(
            t("scripted.export_json"),
            lambda: json.dumps(runs_to_dict(runs), ensure_ascii=False, indent=2),
            file_name=f"{name}.json",
            mime="application/json",
            key=f"simulator_{key}_json",
            on_click="ignore",
        )
        st.download_button(
            t("scripted.export_md"),
            lambda: runs_to_markdown(runs),
            file_name=f"{name}.md",
            mime="text/markdown",
            key=f"simulator_{key}_md",
            on_click="ignore",
        )


def render_sessions(runs: Sequence[ObservedRun]) -> None:
    """A line per run: its session, and where else it can be looked at."""
    st.markdown(f"**{t('scripted.sessions')}**")
    for run in runs:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f":material/route: {t(f'scripted.way.{run.way}')}", width="content")
            if run.session_id is None:
                st.caption(t("scripted.no_session"), width="content")
                continue
            st.markdown(code(run.session_id), width="content")
            _render_links(run.session_id)


def _render_links(session: str) -> None:
    chat = {"session": session, PARAMETER: Mode.MANUAL.value}
    st.page_link(Page.SIMULATOR.value, label=t("scripted.open_chat"), icon=":material/chat:", query_params=chat)
    telemetry = Page.TELEMETRY
    st.page_link(
        telemetry.value, label=t("scripted.open_telemetry"), icon=telemetry.icon, query_params={"session": session}
    )


def _file_name(task_id: str) -> str:
    kept = "".join(character if character.isalnum() or character in "-_" else "_" for character in task_id)
    return f"kbapp-{kept[:60]}"
