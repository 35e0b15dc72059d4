"""A document to its chunks: sections by heading, each with its breadcrumb, long ones in parts (C1–C8)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kbapp.domain.documents import Chunk, Document, TitleSource
from kbapp.domain.errors import UserError
from kbapp.domain.pieces import split_text
from kbapp.domain.sections import PATH_SEPARATOR, Section, fold, parse_headings, split_sections
from kbapp.domain.text_cuts import Lines, safe_end

SMALLEST_MAX_CHARACTERS = 20

# A section of these alone shows nothing: anchors, line breaks and comments.
_EMPTY_MARKUP = re.compile(r"<!--(?:[^-]|-(?!->))*+-->|</?(?:a|br|hr|div|span|p|center)\b[^<>]*+>", re.IGNORECASE)
_ANCHORS = re.compile(r"(?:<a\b[^<>]*+>\s*+</a>\s*+)++", re.IGNORECASE)
_EMPTY_MARKUP_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """``chunking.max-characters`` of a chunk's content, and how many of the text before it are embedded with it.

    Raises:
        UserError: a number is out of its range.
    """

    max_characters: int = 500
    overlap_characters: int = 0

    def __post_init__(self) -> None:
        if self.max_characters < SMALLEST_MAX_CHARACTERS:
            raise UserError(
                f"chunking.max-characters is {self.max_characters}: set it to {SMALLEST_MAX_CHARACTERS} or more"
            )
        if not 0 <= self.overlap_characters < self.max_characters:
            raise UserError(
                f"chunking.overlap-characters is {self.overlap_characters}: "
                f"set it to 0 or more, and below chunking.max-characters ({self.max_characters})"
            )


@dataclass(frozen=True, slots=True)
class _Part:
    """Characters of the body that become chunks of one section; ``head`` of them are heading lines."""

    section: Section
    start: int
    end: int
    head: int


def split_document(document: Document, options: ChunkingOptions | None = None) -> tuple[Chunk, ...]:
    """The chunks of a document, in order; none of a document without text.

    A chunk's content is a run of the body as it is written, heading lines included, and never crosses into the next
    section. A heading with nothing of its own below it goes with the chunk that follows.
    """
    options = options or ChunkingOptions()
    lines = Lines.of(document.body)
    headings = parse_headings(document.body, document.literal_lines)
    parts = _parts(lines, split_sections(document.body, headings))
    chunks = [chunk for part in parts for chunk in _chunks(document, lines, part, options)]
    return tuple(replace(chunk, index=index, total=len(chunks)) for index, chunk in enumerate(chunks))


def _parts(lines: Lines, sections: Sequence[Section]) -> list[_Part]:
    parts: list[_Part] = []
    waiting: int | None = None
    for section in sections:
        start, end = lines.span(section.first_line, section.last_line)
        text_start = end if _is_heading_only(section) else lines.starts[_heading_last_line(section)]
        start = start if waiting is None else waiting
        if _says_something(lines.text[text_start:end]):
            text_end = _before_anchors(lines.text, text_start, end)
            parts.append(_Part(section, start, text_end, text_start - start))
            waiting = text_end if text_end < end else None
        else:
            waiting = start
    if waiting is None:
        return parts
    if parts:
        return [*parts[:-1], replace(parts[-1], end=len(lines.text))]
    return [_Part(sections[-1], waiting, len(lines.text), len(lines.text) - waiting)]


def _heading_last_line(section: Section) -> int:
    return min(section.heading.last_line, section.last_line) if section.heading else section.first_line - 1


def _is_heading_only(section: Section) -> bool:
    return _heading_last_line(section) == section.last_line


def _before_anchors(text: str, start: int, end: int) -> int:
    """Where the blank lines and the anchors for the next heading begin that end a section's text."""
    position = end
    while position > start:
        line_start = max(text.rfind("\n", start, position) + 1, start)
        line = text[line_start:position].strip()
        if line and not _ANCHORS.fullmatch(line):
            return position
        position = max(line_start - 1, start)
    return end


def _says_something(text: str) -> bool:
    if len(text) <= _EMPTY_MARKUP_CHARACTERS:
        text = _EMPTY_MARKUP.sub("", text)
    return any(character.isalnum() for character in text)


def _chunks(document: Document, lines: Lines, part: _Part, options: ChunkingOptions) -> Iterator[Chunk]:
    text = lines.text[part.start : part.end]
    previous_start = 0
    for start, end in split_text(text, part.head, options.max_characters):
        overlap_start = max(previous_start, start - options.overlap_characters)
        overlap = (
            text[safe_end(text, overlap_start, previous_start) : start].strip() if options.overlap_characters else ""
        )
        first, last = lines.number(part.start + start), lines.number(part.start + end - 1)
        yield _chunk(
            document,
            part.section,
            text[start:end],
            overlap,
            (first + document.body_first_line - 1, last + document.body_first_line - 1),
        )
        previous_start = start


def _chunk(document: Document, section: Section, content: str, overlap: str, lines: tuple[int, int]) -> Chunk:
    titles = {heading.level: heading.title for heading in section.path}
    path = section.breadcrumb_titles
    if 1 in titles and fold(titles[1]) == fold(document.title):
        path = path[1:]
    # A file name says little about the text, and a rename must not embed it anew (F7).
    embedded_path = path if document.title_source is TitleSource.FILE_NAME else (document.title, *path)
    embedded = (PATH_SEPARATOR.join(embedded_path), overlap, content)
    return Chunk(
        index=0,
        total=0,
        content=content,
        embedded_text="\n".join(text for text in embedded if text),
        title=titles.get(2, document.title),
        breadcrumb=PATH_SEPARATOR.join((document.title, *path)),
        heading_h1=titles.get(1, ""),
        heading_h2=titles.get(2, ""),
        heading_h3=titles.get(3, ""),
        lines=lines,
    )


def repeated_lines(bodies: Iterable[str], *, share: float = 0.3, min_documents: int = 20) -> frozenset[str]:
    """The stripped lines that more than ``share`` of the bodies hold (C8); none below ``min_documents`` bodies.

    Lines without a letter or digit and the marks of fences are structure, not text, and never count.
    """
    counts: Counter[str] = Counter()
    documents = 0
    for body in bodies:
        documents += 1
        counts.update({line.strip() for line in body.split("\n")})
    if documents < min_documents:
        return frozenset()
    return frozenset(line for line, count in counts.items() if count > share * documents and _is_text(line))


def without_lines(embedded_text: str, repeated: frozenset[str]) -> str:
    """An embedded text without the repeated lines; as it is when nothing else would be left."""
    kept = "\n".join(line for line in embedded_text.split("\n") if line.strip() not in repeated)
    return kept if kept.strip() else embedded_text


def _is_text(line: str) -> bool:
    return not line.startswith(("```", "~~~")) and any(character.isalnum() for character in line)
