"""HTML to its tags and text, in linear time on any input; comments, scripts and preformatted text are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*+)(?:[^"'>]|"[^"]*+"|'[^']*+')*+>""")
_TAG_WITH_BROKEN_QUOTES = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)[^>]*+>")
_ALT = re.compile(r"""\salt\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""", re.IGNORECASE)
_RAW_TEXT = frozenset({"script", "style", "textarea", "pre", "title"})


@dataclass(frozen=True, slots=True)
class HtmlPart:
    """A tag in lower case, ``closing`` for an end tag; or, with an empty ``tag``, text with its entities unresolved."""

    tag: str
    closing: bool
    text: str
    start: int


def html_parts(html: str) -> Iterator[HtmlPart]:
    """The tags and texts in order; an image counts as its ``alt`` text."""
    position = 0
    pattern = _TAG
    while (bracket := html.find("<", position)) >= 0:
        if bracket > position:
            yield HtmlPart("", False, html[position:bracket], position)
        match = pattern.match(html, bracket)
        if match is None and _starts_tag(html, bracket):
            # One quote without its partner makes every later attempt run to the end: look at quotes no more.
            pattern = _TAG_WITH_BROKEN_QUOTES
            match = pattern.match(html, bracket)
            if match is None:
                return
        if match is None:
            position = _after_declaration(html, bracket)
            if position == bracket + 1:
                yield HtmlPart("", False, "<", bracket)
            continue
        yield _part(match)
        position = _after_tag(html, match)
    if position < len(html):
        yield HtmlPart("", False, html[position:], position)


def _starts_tag(html: str, bracket: int) -> bool:
    name = html[bracket + 1 : bracket + 3].removeprefix("/")[:1]
    return name.isascii() and name.isalpha()


def _after_declaration(html: str, bracket: int) -> int:
    """The position after a comment, declaration or instruction; after the bracket when it starts none of them."""
    for start, end in (("<!--", "-->"), ("<!", ">"), ("<?", "?>")):
        if html.startswith(start, bracket):
            found = html.find(end, bracket + len(start))
            return found + len(end) if found >= 0 else len(html)
    return bracket + 1


def _after_tag(html: str, match: re.Match[str]) -> int:
    name = match[2].lower()
    if match[1] or name not in _RAW_TEXT:
        return match.end()
    found = re.compile(f"</{name}", re.IGNORECASE).search(html, match.end())
    return found.start() if found else len(html)


def _part(match: re.Match[str]) -> HtmlPart:
    name = match[2].lower()
    if name == "img":
        alt = _ALT.search(match[0])
        return HtmlPart("", False, (alt[1] or alt[2] or "") if alt else "", match.start())
    if name == "br":
        return HtmlPart("", False, " ", match.start())
    return HtmlPart(name, bool(match[1]), "", match.start())
