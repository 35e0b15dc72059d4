"""Which labelled queries are run: a file of one's own, or those of the sample; what is wrong with a file is said."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import streamlit as st

from kbapp.domain.encodings import decode_markdown
from kbapp.domain.errors import KbError, UserError
from kbapp.domain.labelled_queries import Kind
from kbapp.service.evaluation import read_labels
from kbapp.service.evaluation_files import label_template
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.app_launcher import app_folder
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.evaluation_run import FAULT, Labels, is_running, render_fault, render_running, start
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

logger = logging.getLogger("kbapp.app")

FILE = "evaluation_file"
LABELS = "evaluation_labels"  # the uploader loses its file on a change of page
FAULTY_NAME = "evaluation_faulty_name"
MAX_FILE_MEGABYTES = 5
EXAMPLE = (
    '{"id": "kb-032", "query": "connection pool exhausted, what now", "kind": "question",'
    ' "relevant": ["infrastructure/mysql-connection-pool.md"], "note": "why this is the right answer"}'
)
_SHIPPED = ("sample_queries.jsonl", "benchmarks/sample_queries.jsonl")  # in the wheel, in the checkout


def sample_labels(kb: KnowledgeBase) -> Labels | None:
    """The shipped queries about the sample, where all documents are there that they name."""
    file = next((file for name in _SHIPPED if (file := app_folder() / name).is_file()), None)
    if file is None:
        return None
    try:
        return _read(kb, file.name, file.read_bytes())
    except UserError:
        return None
    except OSError as error:
        logger.warning("%s is not used: %s", file, error)
        return None


def render_choice(kb: KnowledgeBase) -> None:
    """The choice, what is chosen, and the button that runs it; or the bar of the run that is under way."""
    if not kb.documents():
        _render_no_documents()
        return
    with st.container(border=True, key="evaluation_choice"):
        own, sample = st.columns([3, 2], gap="medium")
        with own:
            st.file_uploader(
                t("evaluation.file"),
                type=["jsonl", "json", "ndjson"],
                max_upload_size=MAX_FILE_MEGABYTES,
                key=FILE,
                on_change=_take,
                args=(kb,),
                disabled=is_running(),
            )
        with sample:
            _render_sample(kb)
            _render_format(kb)
        _render_chosen(kb)


def _render_no_documents() -> None:
    with st.container(border=True):
        st.markdown(f":material/note_add: {t('evaluation.no_documents')}")
        st.page_link(Page.KNOWLEDGE_BASE.value, label=t("evaluation.to_knowledge_base"), icon=Page.KNOWLEDGE_BASE.icon)


def _render_sample(kb: KnowledgeBase) -> None:
    labels = sample_labels(kb)
    if labels is None:
        st.caption(f":material/info: {t('evaluation.no_sample')}")
        return
    st.caption(t("evaluation.sample_note"))
    st.button(
        t("evaluation.sample", count=len(labels.queries)),
        key="evaluation_sample",
        icon=":material/storefront:",
        on_click=_choose,
        args=(labels,),
        disabled=is_running(),
        width="stretch",
    )


def _render_format(kb: KnowledgeBase) -> None:
    with st.popover(t("evaluation.format"), icon=":material/help:", width="stretch"):
        st.markdown(t("evaluation.format_note"))
        st.code(EXAMPLE, language="json", wrap_lines=True)
        st.markdown("\n".join(f"- `{kind}`: {t(f'evaluation.kind_note_{kind}')}" for kind in Kind))
        st.caption(t("evaluation.template_note"))
        st.download_button(
            t("evaluation.template"),
            lambda: label_template(kb).encode("utf-8", "replace"),
            file_name="labelled-queries.jsonl",
            mime="application/jsonl",
            icon=":material/download:",
            key="evaluation_template",
            on_click="ignore",
        )


def _render_chosen(kb: KnowledgeBase) -> None:
    if is_running():
        render_running()
        return
    labels: Labels | None = st.session_state.get(LABELS)
    if FAULT in st.session_state:
        render_fault(st.session_state[FAULT], st.session_state.get(FAULTY_NAME) or (labels.name if labels else None))
    if labels is None:
        return
    kinds = Counter(query.kind for query in labels.queries)
    named = " · ".join(f"{t(f'evaluation.kind_{kind}')} {kinds[kind]}" for kind in Kind if kinds[kind])
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(gap=None, width="content"):
            count = t("evaluation.count_queries", count=len(labels.queries))
            st.markdown(f":material/fact_check: **{plain(labels.name)}** · {count}")
            st.caption(named)
        if st.button(t("evaluation.run"), key="evaluation_start", type="primary", icon=":material/play_arrow:"):
            start(kb, labels)
            st.rerun()


def _take(kb: KnowledgeBase) -> None:
    """Before the page is drawn. Of a file with faults nothing is kept, nor of the one before it."""
    _choose(None)
    file = st.session_state.get(FILE)
    if file is None:
        return
    try:
        st.session_state[LABELS] = _read(kb, file.name, file.getvalue())
    except KbError as error:
        st.session_state[FAULT], st.session_state[FAULTY_NAME] = error, file.name


def _choose(labels: Labels | None) -> None:
    for key in (LABELS, FAULT, FAULTY_NAME):
        st.session_state.pop(key, None)
    if labels:
        st.session_state[LABELS] = labels


def _read(kb: KnowledgeBase, name: str, data: bytes) -> Labels:
    text = decode_markdown(data)
    return Labels(Path(name).name, text, tuple(read_labels(text, kb)))
