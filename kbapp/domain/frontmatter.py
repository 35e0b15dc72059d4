"""The text of a Markdown file into its frontmatter and body, without losing a line (F1-F7)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kbapp.domain.documents import Frontmatter, JsonValue
from kbapp.domain.encodings import plain_text
from kbapp.domain.plain_yaml import MAX_CHARACTERS, YamlProblem, read_yaml

_DELIMITER = "---"
# The delimiters need room beside the longest YAML that is read.
_REACH = MAX_CHARACTERS + 1_000
_KEY = re.compile(r"""["']?[\w-]+["']?\s*:(\s|$)""")
_COLONS = re.compile("[:：]")
_STARTS_MARKDOWN = re.compile(r" {0,3}(#{1,6}([ \t]|$)|```|~~~)")
_STRING_SEPARATORS = re.compile("[,，、;；\n]")
_LIST_SEPARATORS = re.compile("[，、；]")  # typed for a comma in `[超时，网关]`; no keyword holds them
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))


@dataclass(frozen=True, slots=True)
class FrontmatterAliases:
    """Keys that stand in, in this order, for a missing or empty one (``knowledge.frontmatter-aliases``, F7)."""

    keywords: tuple[str, ...] = ("tags",)
    summary: tuple[str, ...] = ("description",)


DEFAULT_ALIASES = FrontmatterAliases()


@dataclass(frozen=True, slots=True)
class FrontmatterBlock:
    """A text, split: ``body`` is its end, unchanged, from line ``body_first_line`` (1-based) on.

    Without a valid frontmatter the body is the whole text, and its first ``literal_lines`` lines are a broken or
    foreign ``---`` block (see ``Document``). ``problem`` says why what was meant as a frontmatter is none.
    """

    frontmatter: Frontmatter | None
    body: str
    body_first_line: int = 1
    literal_lines: int = 0
    problem: str | None = None


def has_frontmatter(text: str) -> bool:
    """Whether the text opens with a frontmatter, even a broken one (F2)."""
    block = split_frontmatter(plain_text(text))
    return block.frontmatter is not None or block.problem is not None


def parse(text: str, aliases: FrontmatterAliases = DEFAULT_ALIASES) -> Frontmatter | None:
    """The frontmatter, None when there is none or it is malformed (F1-F3); never raises."""
    return split_frontmatter(plain_text(text), aliases).frontmatter


def split_frontmatter(text: str, aliases: FrontmatterAliases = DEFAULT_ALIASES) -> FrontmatterBlock:
    """Split a text with LF line ends and no BOM; never raises, and no line is lost."""
    lines = text[:_REACH].split("\n")
    if len(text) > _REACH:
        lines.pop()  # may be cut
    opening = _opening(lines)
    if opening is None:
        return FrontmatterBlock(None, text)
    closing = next((line for line in range(opening + 1, len(lines)) if _is_delimiter(lines[line])), None)
    if closing is None:
        return _unclosed(text, lines, opening, aliases)
    try:
        values = read_yaml("\n".join(lines[opening + 1 : closing]))
    except YamlProblem as problem:
        return _malformed(text, lines, (opening, closing), problem)
    if values is None and not any(map(str.strip, lines[opening + 1 : closing])):
        values = {}
    if not isinstance(values, dict):
        return _foreign(text, lines, (opening, closing), aliases)
    start = sum(len(line) + 1 for line in lines[: closing + 1])
    return FrontmatterBlock(_frontmatter(values, aliases), text[start:], closing + 2)


def parse_keywords(value: JsonValue) -> tuple[str, ...]:
    """Keywords of a list, of one string with separators, or of a scalar (F4): as written, none empty, none twice."""
    keywords: dict[str, str] = {}
    for text in _keyword_texts(value):
        if keyword := _one_line(text):
            keywords.setdefault(unicodedata.normalize("NFKC", keyword).casefold(), keyword)
    return tuple(keywords.values())


def _opening(lines: list[str]) -> int | None:
    """The line of the opening ``---``, the first that is not blank; a rule above a heading is none (F6)."""
    filled = list(islice((number for number, line in enumerate(lines) if line.strip()), 2))
    if not filled or not _is_delimiter(lines[filled[0]]):
        return None
    is_rule = len(filled) > 1 and filled[1] > filled[0] + 1 and lines[filled[1]].startswith("#")
    return None if is_rule else filled[0]


def _is_delimiter(line: str) -> bool:
    return line.startswith(_DELIMITER) and line.rstrip() == _DELIMITER


def _unclosed(text: str, lines: list[str], opening: int, aliases: FrontmatterAliases) -> FrontmatterBlock:
    """A frontmatter without its end is broken (F3); without keys, ``---`` is a rule."""
    end = opening + 1
    while end < len(lines) and lines[end].strip() and not _STARTS_MARKDOWN.match(lines[end]):
        end += 1
    block = lines[opening + 1 : end]
    if not any(map(_KEY.match, block)) and _known_key(block, aliases) is None:
        return FrontmatterBlock(None, text)
    problem = f"the frontmatter has no closing {_DELIMITER} line: add one after its last key"
    return FrontmatterBlock(None, text, literal_lines=end, problem=problem)


def _malformed(text: str, lines: list[str], span: tuple[int, int], problem: YamlProblem) -> FrontmatterBlock:
    """What is not YAML but has keys is a broken frontmatter (F3); without keys it is a table or the like (F6)."""
    opening, closing = span
    block = lines[opening + 1 : closing]
    if not any(map(_KEY.match, block)):
        return FrontmatterBlock(None, text, literal_lines=_literal_end(lines, span))
    place = "" if problem.line is None else f" near line {opening + 1 + problem.line}"
    sentence = (
        f"the frontmatter is not valid YAML{place} ({problem.reason}): check its brackets, indentation and quotes; "
        'a value that holds ": " needs quotes'
    )
    literal = closing + 1 if all(map(str.strip, block)) else _literal_end(lines, span)
    return FrontmatterBlock(None, text, literal_lines=literal, problem=sentence)


def _foreign(text: str, lines: list[str], span: tuple[int, int], aliases: FrontmatterAliases) -> FrontmatterBlock:
    """A block that is no mapping is text (F6), unless ``title:x`` or ``title：x`` shows that a mapping was meant."""
    known = _known_key(lines[span[0] + 1 : span[1]], aliases)
    problem = known and f'the frontmatter is not read: write "{known}: …", with a half-width colon and a space after it'
    return FrontmatterBlock(None, text, literal_lines=_literal_end(lines, span), problem=problem)


def _known_key(block: list[str], aliases: FrontmatterAliases) -> str | None:
    """The first key of ours that a line starts with, whatever colon follows."""
    known = {"title", "keywords", "summary", *aliases.keywords, *aliases.summary}
    names = (_COLONS.split(line, 1)[0].strip() for line in block if _COLONS.search(line))
    return next((name for name in names if name in known), None)


def _literal_end(lines: list[str], span: tuple[int, int]) -> int:
    """The lines up to the end of a block; a heading or fence inside shows that Markdown began before it."""
    opening, closing = span
    inside = range(opening + 1, closing)
    return next((line for line in inside if _STARTS_MARKDOWN.match(lines[line])), closing + 1)


def _frontmatter(values: dict[str, JsonValue], aliases: FrontmatterAliases) -> Frontmatter:
    summaries = (_text(values.get(key)) for key in ("summary", *aliases.summary))
    keywords = (parse_keywords(_given(values.get(key))) for key in ("keywords", *aliases.keywords))
    title = _one_line(_text(values.get("title")))
    return Frontmatter(title or None, next(filter(None, keywords), ()), next(filter(None, summaries), None), values)


def _given(value: JsonValue) -> JsonValue:
    """None for what YAML calls null."""
    return None if isinstance(value, str) and value.strip() in _NULLS else value


def _text(value: JsonValue) -> str:
    """A scalar, trimmed; empty for a list, a mapping or nothing."""
    given = _given(value)
    return given.strip() if isinstance(given, str) else ""


def _one_line(text: str) -> str:
    return " ".join((text if text.isprintable() else text.translate(_INVISIBLE)).split())


def _keyword_texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield from _STRING_SEPARATORS.split(value)
    elif isinstance(value, list):
        for member in value:
            yield from _member_texts(member)
    elif isinstance(value, dict):
        yield from _member_texts(value)


def _member_texts(member: JsonValue) -> Iterator[str]:
    """A list's member; ``- ERR_TIMEOUT: 支付超时`` is one keyword with a colon, deeper mappings are ignored."""
    if isinstance(member, str):
        yield from _LIST_SEPARATORS.split(member)
    elif isinstance(member, list):
        for inner in member:
            yield from _member_texts(inner)
    elif isinstance(member, dict):
        for key, text in member.items():
            if isinstance(text, str):
                yield f"{key}: {text}" if text else key
