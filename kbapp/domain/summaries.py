"""What the executor gets of a document that the keywords found: compact, or metadata only (Q4)."""

from __future__ import annotations

from collections.abc import Sequence

from kbapp.domain.documents import Document, KnowledgeEntry
from kbapp.domain.keyword_text import is_word_edge
from kbapp.domain.sections import Heading, fold, parse_headings, split_sections
from kbapp.domain.text_cuts import cut_to, safe_end

COMPACT_CHARACTERS = 1000
SECTION_LIST_CHARACTERS = 200
SHORT_BODY_CHARACTERS = 2000
SHORT_FRAGMENT_CHARACTERS = 800
LONG_FRAGMENT_CHARACTERS = 500
TITLE_CHARACTERS = 120
SUMMARY_CHARACTERS = 300
LISTED_TITLE_CHARACTERS = 80

METADATA_CHARACTERS = 200
# What a line of the metadata-only summary keeps, at least, when all of them together are too long.
METADATA_LINE_CHARACTERS = 40


def compact_summary(entry: KnowledgeEntry, document: Document, matched_keyword: str | None) -> str:
    """Title, summary, sections and the beginning of the text, at most 1000 characters in all.

    The text starts at the section that holds the matched keyword, without one at the top.
    """
    headings = parse_headings(document.body, document.literal_lines)
    head = "\n".join(
        [
            *_line("文档", cut_to(_one_line(entry.title), TITLE_CHARACTERS)),
            *_line("摘要", cut_to(_one_line(entry.summary or ""), SUMMARY_CHARACTERS)),
            *_section_list([heading.title for heading in headings if heading.level == 2]),
            "---\n",
        ]
    )
    is_short = len(document.body) <= SHORT_BODY_CHARACTERS
    limit = min(SHORT_FRAGMENT_CHARACTERS if is_short else LONG_FRAGMENT_CHARACTERS, COMPACT_CHARACTERS - len(head))
    fragment = _fragment(document.body, headings, matched_keyword, limit)
    return head + fragment if fragment else head.removesuffix("---\n").rstrip()


def metadata_summary(entry: KnowledgeEntry) -> str:
    """Title, summary, keywords and source from the index alone; long values are cut to about 200 characters in all.

    The source is never cut: it is how the executor names the document.
    """
    title, summary = _one_line(entry.title), _one_line(entry.summary or "")
    keywords = ", ".join(_one_line(keyword) for keyword in entry.keywords)
    excess = len(_metadata(title, summary, keywords, entry.path)) - METADATA_CHARACTERS
    summary, excess = _shortened(summary, excess)
    keywords, excess = _shortened(keywords, excess)
    title, _ = _shortened(title, excess)
    return _metadata(title, summary, keywords, entry.path)


def available_sections(document: Document) -> tuple[str, ...]:
    """The titles of a document's headings in order, each once, without the H1 that is the document's own title (Q6)."""
    headings = parse_headings(document.body, document.literal_lines)
    titles = (heading.title for heading in headings if heading.level > 1 or fold(heading.title) != fold(document.title))
    return tuple(dict.fromkeys(titles))


def _metadata(title: str, summary: str, keywords: str, path: str) -> str:
    lines = (("文档", title), ("摘要", summary), ("关键词", keywords), ("来源", path))
    return "\n".join(line for label, value in lines for line in _line(label, value))


def _shortened(value: str, excess: int) -> tuple[str, int]:
    """The value without its last ``excess`` characters, as far as it may shrink, and the excess that is left."""
    if excess <= 0 or len(value) <= METADATA_LINE_CHARACTERS:
        return value, excess
    shorter = cut_to(value, max(len(value) - excess, METADATA_LINE_CHARACTERS))
    return shorter, excess - (len(value) - len(shorter))


def _line(label: str, value: str) -> list[str]:
    return [f"{label}: {value}"] if value else []


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _section_list(titles: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for title in titles:
        line = f"- {cut_to(title, LISTED_TITLE_CHARACTERS)}"
        if len("\n".join([*lines, line])) > SECTION_LIST_CHARACTERS:
            return ["章节:", *lines, f"- …(共 {len(titles)} 节)"]
        lines.append(line)
    return ["章节:", *lines] if lines else []


def _fragment(body: str, headings: Sequence[Heading], keyword: str | None, limit: int) -> str:
    first_line = _first_line(body, headings, keyword)
    heading_lines = {line for heading in headings for line in range(heading.line, heading.last_line + 1)}
    parts: list[str] = []
    length = 0
    for number, line in enumerate(body.split("\n"), start=1):
        if number < first_line or number in heading_lines or not line.strip():
            continue
        parts.append(line.rstrip())
        length += len(parts[-1]) + 1
        if length > limit:
            break
    text = "\n".join(parts)
    return text if len(text) <= limit else text[: safe_end(text, limit)].rstrip()


def _first_line(body: str, headings: Sequence[Heading], keyword: str | None) -> int:
    wanted = fold(keyword or "")
    lines = body.split("\n")
    for section in split_sections(body, headings) if wanted else ():
        if _holds_word(fold("\n".join(lines[section.first_line - 1 : section.last_line])), wanted):
            return section.first_line
    return 1


def _holds_word(text: str, wanted: str) -> bool:
    """Whether the keyword stands in the text from word edge to word edge (K3)."""
    start = text.find(wanted)
    while start >= 0:
        if is_word_edge(text, start) and is_word_edge(text, start + len(wanted)):
            return True
        start = text.find(wanted, start + 1)
    return False
