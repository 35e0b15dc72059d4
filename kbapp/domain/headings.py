"""A Markdown body to its headings, as CommonMark and HTML define them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from markdown_it.token import Token

from kbapp.domain.html_parts import html_parts
from kbapp.domain.markdown_blocks import markdown, parse_tokens

if TYPE_CHECKING:
    from markdown_it.utils import EnvType

# A setext heading may be a paragraph of any length; as a title it would drown every breadcrumb.
MAX_TITLE_CHARACTERS = 200
# markdown-it's inline rules are quadratic in the marks of hostile text: a title with more stays as it is written.
MAX_INLINE_CHARACTERS = 1000
MAX_BRACKETS = 6
MAX_MARKS = 100
# Each makes a chunk of its own, which is embedded: what follows the last one is text of its section.
MAX_HEADINGS = 10_000

_HEADING_CANDIDATE = re.compile(r"^ {0,3}(?:#|(?:=++|-++)[ \t]*+$)|<h[1-6]", re.MULTILINE | re.IGNORECASE)
_HTML_HEADING = re.compile(r"<h[1-6]", re.IGNORECASE)
_HEADING_TAG = re.compile(r"h([1-6])")
_MARK = re.compile(r"[*_`<&!\\]")
_CUSTOM_ID = re.compile(r"\{#[^{}]*+\}$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; ``line`` and ``last_line`` are 1-based, inclusive, within the body."""

    level: int
    title: str
    line: int
    last_line: int


@lru_cache(maxsize=16)  # one answer asks for the headings of its document two or three times
def parse_headings(body: str, literal_lines: int = 0) -> tuple[Heading, ...]:
    """The headings of a body with LF line ends, in order.

    Only headings at the top level count: one inside a quote or a list item heads that quote or item, not what follows
    it. A heading without any text names nothing and is no heading. The first ``literal_lines`` lines hold none. At most
    ``MAX_HEADINGS``, and none in a text that is too long to be read as Markdown.
    """
    text = _without_first_lines(body, literal_lines)
    if not _HEADING_CANDIDATE.search(text):
        return ()
    references: EnvType = {}
    tokens = parse_tokens(text, references)
    found = islice(_headings(tokens, references), MAX_HEADINGS)
    return tuple(_shifted(heading, literal_lines) for heading in found)


def _without_first_lines(body: str, count: int) -> str:
    position = 0
    for _ in range(count):
        line_end = body.find("\n", position)
        if line_end < 0:
            return ""
        position = line_end + 1
    return body[position:]


def _shifted(heading: Heading, lines: int) -> Heading:
    return Heading(heading.level, heading.title, heading.line + lines, heading.last_line + lines)


def _headings(tokens: Sequence[Token], references: EnvType) -> Iterator[Heading]:
    html_heading = _HtmlHeadings()
    for position, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        line = token.map[0] + 1
        if token.type == "heading_open":
            yield from html_heading.close()
            title = plain_title(tokens[position + 1].content, references)
            if title:
                yield Heading(int(token.tag[1]), title, line, token.map[1])
        elif token.type == "html_block":
            yield from html_heading.read(token.content, line)
        elif token.type == "paragraph_open":
            yield from html_heading.read_paragraph(tokens[position + 1].content, line, references)
        else:
            yield from html_heading.close()
    yield from html_heading.close()


def plain_title(content: str, references: EnvType) -> str:
    """The text of a heading's inline content: no markup, no ``{#id}`` at its end, one space between words."""
    cut = content[:MAX_INLINE_CHARACTERS]
    return _tidy(_inline_text(_inline_tokens(cut, references)))


def _tidy(text: str) -> str:
    title = _CUSTOM_ID.sub("", " ".join(text.split())).rstrip()
    return title if len(title) <= MAX_TITLE_CHARACTERS else title[: MAX_TITLE_CHARACTERS - 1] + "…"


def _inline_tokens(content: str, references: EnvType) -> list[Token]:
    brackets, marks = content.count("["), len(_MARK.findall(content))
    if not (brackets or marks or "\n" in content) or brackets > MAX_BRACKETS or marks > MAX_MARKS:
        return [Token("text", "", 0, content=content)]
    tokens: list[Token] = []
    markdown().inline.parse(content, markdown(), references, tokens)
    return tokens


def _inline_text(tokens: Sequence[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "html_inline":
            parts.extend(part.text for part in html_parts(token.content))
        elif token.type == "image":
            parts.append(_inline_text(token.children or []))
        else:
            parts.append(token.content)
    return "".join(parts)


class _HtmlHeadings:
    """Reads HTML blocks and paragraphs, one after the other, and yields the headings that end in each."""

    def __init__(self) -> None:
        self._level = 0
        self._line = 0
        self._last_line = 0
        self._text = ""

    def read(self, content: str, first_line: int) -> Iterator[Heading]:
        """Headings of one HTML block. One that has its text ends with the block, one without may go on in the next."""
        if self._text and not content.lstrip().lower().startswith("</h"):
            yield from self.close()
        if self._level or _HTML_HEADING.search(content):
            counted, line = 0, first_line
            for part in html_parts(content):
                line += content.count("\n", counted, part.start)
                counted = part.start
                yield from self._read_part(part.tag, part.closing, html.unescape(part.text), line)
        if self._text:
            yield from self.close()

    def read_paragraph(self, content: str, first_line: int, references: EnvType) -> Iterator[Heading]:
        """Headings in a paragraph: ``<a id="x"></a><h2>…</h2>``, or the text of an ``<h2>`` alone above it."""
        if self._text:
            yield from self.close()
        if not self._level and not _HTML_HEADING.search(content):
            return
        line, text_before = first_line, False
        for token in _inline_tokens(content[:MAX_INLINE_CHARACTERS], references):
            if token.type in ("softbreak", "hardbreak"):
                line, text_before = line + 1, False
            tag = next(html_parts(token.content), None) if token.type == "html_inline" else None
            if tag is not None and tag.tag:
                # A tag in the middle of prose is talk about HTML.
                if self._level or not text_before:
                    yield from self._read_part(tag.tag, tag.closing, "", line)
            else:
                text = _inline_text([token])
                text_before = text_before or bool(text.strip() and not self._level)
                yield from self._read_part("", False, text, line)

    def close(self) -> Iterator[Heading]:
        """The heading being read, if it has a text; none is being read afterwards."""
        title = _tidy(self._text)
        if title:
            yield Heading(self._level, title, self._line, self._last_line)
        self._level, self._text = 0, ""

    def _read_part(self, tag: str, closing: bool, text: str, line: int) -> Iterator[Heading]:
        match = _HEADING_TAG.fullmatch(tag)
        if match:
            if self._level and closing:
                self._last_line = line
            yield from self.close()
            if not closing:
                self._level, self._line, self._last_line = int(match[1]), line, line
        elif self._level and (self._text or text.strip()):
            self._text += text
            self._last_line = line + text.rstrip().count("\n")
