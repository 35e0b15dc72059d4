"""What a person says of a call: helpful, not helpful, wrong level (T6)."""

from __future__ import annotations

import streamlit as st

from kbapp.domain.invocation import Invocation
from kbapp.domain.telemetry import Verdict
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.state import t

_ICONS = {
    Verdict.HELPFUL: ":material/thumb_up:",
    Verdict.NOT_HELPFUL: ":material/thumb_down:",
    Verdict.WRONG_LEVEL: ":material/tune:",
}


def render_verdict(kb: KnowledgeBase, call: Invocation) -> None:
    """The three verdicts as buttons; the one in force is chosen, another one replaces it."""
    marks = kb.marks(call.id)
    in_force = marks[-1].verdict if marks else None
    chosen = st.pills(
        t("verdict.ask"),
        list(Verdict),
        default=in_force,
        format_func=lambda verdict: f"{_ICONS[verdict]} {t(f'verdict.{verdict}')}",
        label_visibility="collapsed",
        key=f"card_verdict_{call.id}",
    )
    if chosen and chosen is not in_force:
        kb.feedback(call.id, chosen)
        st.toast(t("verdict.kept", verdict=t(f"verdict.{chosen}")), icon=":material/check:")
