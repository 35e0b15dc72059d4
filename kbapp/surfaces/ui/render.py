"""Values on the screen; text from files is shown as text, never as HTML."""

from __future__ import annotations

import streamlit as st

from kbapp.domain.lookup_result import LookupResult


def render_result(result: LookupResult) -> None:
    """One result as the executor gets it."""
    st.subheader(result.relevance_level.value if result.relevance_level else "Not found")
    for line in (result.completeness_hint, result.message):
        if line:
            st.write(line)
    if result.degraded:
        st.warning(result.degraded)
    if result.primary:
        st.caption(f"{result.primary.title} · {result.primary.source}")
        st.code(result.primary.content, language=None, wrap_lines=True)
    if result.supplement:
        st.caption(f"{result.supplement.breadcrumb} · {result.supplement.source}")
        st.code(result.supplement.content, language=None, wrap_lines=True)
