"""Small tables as HTML: read by everyone, wrapped or scrolled where they are too wide; every cell is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st


def render_table(label: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, style: str = "kb-figures") -> None:
    """The first column names the row; ``style``: a class of the style sheet."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    st.html(
        f'<div class="kb-scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table class="{style}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
