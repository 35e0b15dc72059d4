"""Text from files and queries on the screen: shown as it is written, words marked, never as Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

import streamlit as st

from kbapp.surfaces.ui.state import t

_LATIN = re.compile(r"[A-Za-z0-9]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:$<>&=^])")


def render_quoted(text: str, words: Iterable[str] = ()) -> None:
    """A passage with its line ends; ``words`` are marked wherever they stand, in any case."""
    label = escape(t("quoted.label"))
    st.html(f'<div class="kb-quoted" tabindex="0" role="region" aria-label="{label}">{marked_html(text, words)}</div>')


def marked_html(text: str, words: Iterable[str]) -> str:
    """The escaped text with ``<mark>`` around each of the words."""
    wanted = sorted({word for word in words if word.strip()}, key=len, reverse=True)
    if not wanted:
        return escape(text)
    pattern = re.compile("|".join(map(_pattern, wanted)), re.IGNORECASE)
    parts: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        parts += [escape(text[end : match.start()]), "<mark>", escape(match.group()), "</mark>"]
        end = match.end()
    return "".join([*parts, escape(text[end:])])


def _pattern(word: str) -> str:
    """A word of Latin letters stands by itself; Chinese has no gaps between words."""
    before = r"(?<![A-Za-z0-9])" if _LATIN.match(word[0]) else ""
    after = r"(?![A-Za-z0-9])" if _LATIN.match(word[-1]) else ""
    return f"{before}{re.escape(word)}{after}"


def plain(text: str) -> str:
    """A text inside a Markdown line, such that it is shown as it is written."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """A text inside a Markdown line as code, which no backtick in it ends."""
    return f"`{' '.join(text.split()).replace('`', chr(39))}`"
