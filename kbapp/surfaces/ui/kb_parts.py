"""Parts of a document on the screen: its facts, its chunks, its text; whatever a file holds is shown as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import streamlit as st

from kbapp.domain.documents import Chunk, Document, JsonValue
from kbapp.surfaces.ui import state
from kbapp.surfaces.ui.kb_markdown import MAX_CHARACTERS, document_html
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t
from kbapp.surfaces.ui.texts import Language

STYLE_SHEET = Path(__file__).with_name("kb_document.css")
CHINESE_STYLE_SHEET = Path(__file__).with_name("kb_chinese.css")
SHOWN_CHUNKS = 20


def render_style() -> None:
    """What the parts below need beside Streamlit's theme; once per page."""
    st.html(STYLE_SHEET)
    if state.language() is Language.CHINESE:
        st.html(CHINESE_STYLE_SHEET)


def render_body(document: Document) -> None:
    """The text of a document as Markdown, without its frontmatter."""
    if not document.body.strip():
        st.caption(t("kb.no_text"))
        return
    label = escape(t("kb.tab_text"), quote=True)
    st.html(
        f'<div class="kb-document" role="region" aria-label="{label}" tabindex="0">{document_html(document.body)}</div>'
    )
    if len(document.body) > MAX_CHARACTERS:
        st.caption(t("kb.cut", shown=f"{MAX_CHARACTERS:,}", total=f"{len(document.body):,}"))


def render_frontmatter(document: Document) -> None:
    """Every key with its value as written, and why there are none."""
    if document.frontmatter is None:
        st.info(t("kb.no_frontmatter"), icon=":material/info:")
    elif not document.frontmatter.values:
        st.info(t("kb.empty_frontmatter"), icon=":material/info:")
    else:
        _render_facts((key, _shown(value)) for key, value in document.frontmatter.values.items())
    if document.entry is None:
        st.caption(t("kb.no_entry"))
    else:
        words = dict.fromkeys([document.entry.title, *document.entry.keywords])
        st.caption(t("kb.entry_note", words=" · ".join(map(plain, words))))


def render_chunks(chunks: Sequence[Chunk], key: str) -> None:
    """Each chunk with its breadcrumb, lines and size; many of them on pages."""
    if not chunks:
        st.caption(t("kb.no_chunks"))
        return
    pages = -(-len(chunks) // SHOWN_CHUNKS)
    page = st.pagination(pages, key=key) if pages > 1 else 1
    shown = chunks[(page - 1) * SHOWN_CHUNKS : page * SHOWN_CHUNKS]
    items = "".join(map(_chunk_html, shown))
    label = escape(t("kb.tab_chunks", count=len(chunks)), quote=True)
    st.html(f'<div class="kb-chunks" role="region" aria-label="{label}" tabindex="0">{items}</div>')


def _chunk_html(chunk: Chunk) -> str:
    first, last = chunk.lines
    where = t("kb.chunk_place", number=chunk.index + 1, first=first, last=last, size=len(chunk.content))
    return (
        f"<section><header><b>{escape(chunk.breadcrumb)}</b><small>{escape(where)}</small></header>"
        f"<pre>{escape(chunk.content)}</pre></section>"
    )


def _render_facts(facts: Iterable[tuple[str, str]]) -> None:
    rows = "".join(f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts)
    st.html(f'<table class="kb-facts"><tbody>{rows}</tbody></table>')


def _shown(value: JsonValue) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
