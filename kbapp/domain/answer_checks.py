"""Whether a text that was given holds the answer, and whether it stands under the right heading."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from kbapp.domain.documents import Document
from kbapp.domain.sections import SectionText, parse_headings, section_text

SUMMARY_SEPARATOR = "\n---\n"  # Q4: body text stands behind it


def holds_all(text: str, evidence: Sequence[str]) -> bool:
    """Whether every string stands in the text, without regard to case, width and white space."""
    squeezed = squeezed_text(text)
    return all(squeezed_text(each) in squeezed for each in evidence)


def squeezed_text(text: str) -> str:
    """The form in which evidence is compared."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def labelled_section(document: Document, heading: str) -> SectionText | None:
    """The section of this heading, subsections included; None when the document has no such heading."""
    headings = parse_headings(document.body, document.literal_lines)
    return section_text(document.body, headings, heading, document.title)


def chunk_is_in(section: SectionText, document: Document, lines: tuple[int, int]) -> bool:
    """Whether a chunk at these lines of the file belongs to the section.

    Its end decides: it may begin with headings above that have no text of their own (C4).
    """
    last_line = lines[1] - document.body_first_line + 1
    return section.first_line <= last_line and lines[0] - document.body_first_line + 1 <= section.last_line


def summary_starts_in(section: SectionText, summary: str) -> bool:
    """Whether the body text of a compact summary begins in the section."""
    _, _, fragment = f"\n{summary}".partition(SUMMARY_SEPARATOR)
    first = fragment.split("\n", 1)[0]
    return bool(first) and any(line.startswith(first) for line in section.text.split("\n"))
