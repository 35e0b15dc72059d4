"""The sections between a body's headings, with their heading paths, and one section found by its title."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kbapp.domain.headings import Heading, parse_headings

__all__ = ["Heading", "Section", "SectionText", "heading_paths", "parse_headings", "section_text", "split_sections"]

PATH_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the lines up to the next one of any level; ``heading`` is None for the text before the first.

    ``path`` holds the headings from the outermost to this section's own. Lines are 1-based, inclusive, within the body.
    """

    heading: Heading | None
    path: tuple[Heading, ...]
    first_line: int
    last_line: int

    @property
    def breadcrumb_titles(self) -> tuple[str, ...]:
        """The titles of the heading path."""
        return tuple(heading.title for heading in self.path)


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section together with its subsections; lines are 1-based, inclusive, within the body."""

    title: str
    text: str
    first_line: int
    last_line: int


def heading_paths(headings: Sequence[Heading]) -> Iterator[tuple[Heading, ...]]:
    """For each heading those above it and itself: the stack of C2, whose top goes while its level is not smaller."""
    stack: list[Heading] = []
    for heading in headings:
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        yield tuple(stack)


def split_sections(body: str, headings: Sequence[Heading]) -> tuple[Section, ...]:
    """The sections of a body in order; together they hold every line but blank ones before the first heading."""
    line_count = body.count("\n") + 1
    starts = [*(heading.line for heading in headings), line_count + 1]
    sections: list[Section] = []
    before_first = starts[0] - 1
    if "".join(body.split("\n", before_first)[:before_first]).strip():
        sections.append(Section(None, (), 1, before_first))
    for heading, path, next_start in zip(headings, heading_paths(headings), starts[1:], strict=True):
        # Of several HTML headings on one line the last one heads the text.
        if next_start > heading.line:
            sections.append(Section(heading, path, heading.line, next_start - 1))
    return tuple(sections)


def section_text(body: str, headings: Sequence[Heading], title: str, document_title: str = "") -> SectionText | None:
    """The section that ``title`` names, subsections included; None when no section or more than one is meant.

    The title is looked for as written, then without regard to case and width, then as a path ``A > B``, then as the
    beginning of exactly one title. Of several sections with the same title the first is meant; a path tells them apart.
    """
    position = _find(headings, title, document_title)
    if position is None:
        return None
    heading = headings[position]
    following = (later.line for later in headings[position + 1 :] if later.level <= heading.level)
    lines = body.split("\n")
    last_line = max(next(following, len(lines) + 1) - 1, heading.last_line)
    while last_line > heading.last_line and not lines[last_line - 1].strip():
        last_line -= 1
    return SectionText(heading.title, "\n".join(lines[heading.line - 1 : last_line]), heading.line, last_line)


def fold(text: str) -> str:
    """The form in which titles are compared: without regard to case, width and the amount of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _find(headings: Sequence[Heading], title: str, document_title: str) -> int | None:
    titles = [heading.title for heading in headings]
    wanted = " ".join(title.split())
    if wanted in titles:
        return titles.index(wanted)
    folded = [fold(each) for each in titles]
    wanted = fold(title)
    if wanted in folded:
        return folded.index(wanted)
    found = _find_path(headings, wanted, fold(document_title))
    if found is not None or not wanted:
        return found
    beginning = {each for each in folded if each.startswith(wanted)}
    return folded.index(beginning.pop()) if len(beginning) == 1 else None


def _find_path(headings: Sequence[Heading], wanted: str, document_title: str) -> int | None:
    wanted = wanted.removeprefix(document_title + PATH_SEPARATOR) if document_title else wanted
    for position, path in enumerate(heading_paths(headings)):
        joined = PATH_SEPARATOR.join(fold(heading.title) for heading in path)
        if joined == wanted or joined.endswith(PATH_SEPARATOR + wanted):
            return position
    return None
