"""Chosen thresholds are put in force: what would change, what is written where, and the way back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from kbapp.service.grading import HIGHLY_RELEVANT_SETTING, REFERENCE_SETTING
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.what_if import Judged
from kbapp.settings import Settings
from kbapp.surfaces.ui.context import CONFIG_VARIABLE, errors_as_sentences
from kbapp.surfaces.ui.evaluation_sliders import Comparison, set_sliders
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

ASKED = "evaluation_asked"  # whether the question before applying is open
WRITTEN = "evaluation_written"  # the file that the thresholds were written to last


def render_apply(kb: KnowledgeBase, compared: Comparison) -> None:
    """How many queries would be answered otherwise, and the buttons."""
    changed = sum(_is_other(*pair) for pair in zip(compared.before, compared.after, strict=True))
    if compared.is_changed:
        st.session_state.pop(WRITTEN, None)
        st.markdown(f":material/swap_horiz: {t('evaluation.changed', count=changed)}")
    elif WRITTEN in st.session_state:
        st.success(t("evaluation.written", file=plain(st.session_state[WRITTEN])), icon=":material/check:")
    else:
        st.markdown(f":material/tune: {t('evaluation.unchanged')}")
    with st.container(horizontal=True):
        st.button(
            t("evaluation.apply"),
            key="evaluation_apply",
            type="primary" if compared.is_changed else "secondary",
            icon=":material/save:",
            on_click=_ask,
            disabled=not compared.is_changed,
        )
        st.button(
            t("evaluation.reset"),
            key="evaluation_reset",
            icon=":material/undo:",
            on_click=set_sliders,
            args=(compared.in_force,),
            disabled=not compared.is_changed,
        )
    if ASKED in st.session_state and compared.is_changed:
        st.dialog(t("evaluation.apply_title"), width="medium", on_dismiss=_forget_question)(_confirm)(kb, compared)


def _ask() -> None:
    st.session_state[ASKED] = True


def _forget_question() -> None:
    st.session_state.pop(ASKED, None)


def _is_other(before: Judged, after: Judged) -> bool:
    return (before.level, before.document) != (after.level, after.document)


def _confirm(kb: KnowledgeBase, compared: Comparison) -> None:
    """What is written where, before it is."""
    with errors_as_sentences():
        config = os.environ.get(CONFIG_VARIABLE)
        settings = Settings.load(Path(config) if config else None)
        st.markdown(t("evaluation.apply_where", file=plain(str(settings.project_root / settings.config_file))))
        values = (
            (REFERENCE_SETTING, compared.in_force.reference, compared.chosen.reference),
            (HIGHLY_RELEVANT_SETTING, compared.in_force.highly_relevant, compared.chosen.highly_relevant),
        )
        st.code("\n".join(f"{name}: {new:g}    # {old:g}" for name, old, new in values), language="yaml")
        st.caption(t("evaluation.apply_note"))
        _warn_of_environment([name for name, _, _ in values])
        with st.container(horizontal=True, horizontal_alignment="right"):
            keep = st.button(t("evaluation.apply_no"), key="evaluation_apply_no")
            write = st.button(
                t("evaluation.apply_yes"), key="evaluation_apply_yes", type="primary", icon=":material/save:"
            )
        if write:
            chosen = compared.chosen
            file = kb.apply_thresholds(reference=chosen.reference, highly_relevant=chosen.highly_relevant)
            st.session_state[WRITTEN] = str(file)
        if write or keep:
            _forget_question()
            st.rerun()


def _warn_of_environment(names: Sequence[str]) -> None:
    """A variable of the environment wins over the file at the next start."""
    variables = [f"KBAPP_{name.upper().replace('.', '__').replace('-', '_')}" for name in names]
    for variable in variables:
        if variable in os.environ:
            st.warning(t("evaluation.apply_environment", variable=variable), icon=":material/warning:")
