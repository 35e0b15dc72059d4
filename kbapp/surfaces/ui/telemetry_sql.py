"""A box for one SELECT, read-only; the three statements of the design as presets, to the letter (T4)."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from kbapp.domain.errors import KbError
from kbapp.domain.telemetry import SqlResult
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import errors_as_sentences
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

PRESETS: Mapping[str, str] = {
    "levels": """SELECT relevance_level, COUNT(*) AS cnt
FROM tool_invocation
WHERE tool_name = 'lookup_knowledge'
GROUP BY relevance_level;""",
    "reasons": """SELECT dedup_reason, COUNT(*) AS cnt
FROM tool_invocation
WHERE tool_name = 'lookup_knowledge'
GROUP BY dedup_reason;""",
    "similarities": """SELECT
    JSON_EXTRACT(retrieval_details, '$.l1_top_similarity') AS similarity,
    COUNT(*) AS cnt
FROM tool_invocation
WHERE tool_name = 'lookup_knowledge'
  AND retrieval_details IS NOT NULL
GROUP BY similarity
ORDER BY similarity;""",
}
STATEMENT = "telemetry_sql"
_RESULT = "telemetry_sql_result"
_SHOWN_ROWS = 1000  # a browser holds no more with ease
_ICONS = {"levels": ":material/bar_chart:", "reasons": ":material/history:", "similarities": ":material/equalizer:"}


@st.fragment
def render_sql(kb: KnowledgeBase) -> None:
    """The box, the presets, and the last result."""
    with errors_as_sentences(), st.container(border=True):
        st.header(f":material/database: {t('telemetry.sql')}", anchor=False)
        st.caption(t("telemetry.sql_note"))
        with st.container(horizontal=True, gap="small"):
            for name, statement in PRESETS.items():
                st.button(
                    t(f"telemetry.sql_{name}"),
                    icon=_ICONS[name],
                    key=f"telemetry_sql_{name}",
                    on_click=_run,
                    args=(kb, statement),
                )
        st.session_state.setdefault(STATEMENT, PRESETS["levels"])
        with st.form("telemetry_sql_form", border=False):
            statement = st.text_area(t("telemetry.sql_statement"), height=190, key=STATEMENT)
            pressed = st.form_submit_button(
                t("telemetry.sql_run"), type="primary", icon=":material/play_arrow:", key="telemetry_sql_run"
            )
        if pressed:
            st.session_state[_RESULT] = _result(kb, statement)
        _render_result(st.session_state.get(_RESULT))


def _run(kb: KnowledgeBase, statement: str) -> None:
    st.session_state[STATEMENT] = statement
    st.session_state[_RESULT] = _result(kb, statement)


def _result(kb: KnowledgeBase, statement: str) -> SqlResult | str:
    """The result, or the sentence that says why there is none."""
    try:
        return kb.select(statement)
    except KbError as error:
        return str(error)


def _render_result(result: SqlResult | str | None) -> None:
    if result is None:
        return
    if isinstance(result, str):
        st.error(plain(result), icon=":material/error:")
        return
    shown = SqlResult(result.columns, result.rows[:_SHOWN_ROWS], result.truncated)
    rows, held = f"{len(shown.rows):,}", f"{len(result.rows):,}"
    if result.truncated:
        st.caption(t("telemetry.sql_truncated", shown=rows, rows=held))
    elif len(shown.rows) < len(result.rows):
        st.caption(t("telemetry.sql_shown", shown=rows, rows=held))
    else:
        st.caption(t("telemetry.sql_rows", rows=rows) if result.rows else t("telemetry.sql_none"))
    if result.rows:
        st.dataframe(shown.to_dicts(), hide_index=True, alt=t("telemetry.sql"))
