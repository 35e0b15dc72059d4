"""Markdown text to the blocks of CommonMark (and GFM tables), by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block

if TYPE_CHECKING:
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

# markdown-it drops everything after a block nested deeper than maxNesting. Nesting ends earlier here: a quote or list
# deeper than this is plain paragraph text, so that the limit of markdown-it is never met.
NESTING_LIMIT = 16
# A block takes 2 KB and 30 µs: a text of more lines than any book has is not read as Markdown, and cut by lines.
MAX_LINES = 200_000


@dataclass(frozen=True, slots=True)
class Block:
    """One block: ``kind`` is its markdown-it token type without ``_open``, lines are 1-based, inclusive."""

    kind: str
    first_line: int
    last_line: int
    children: tuple[Block, ...]


@cache
def markdown() -> MarkdownIt:
    """The parser. Stateless after construction, shared by threads."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
    parser.block.ruler.at("blockquote", _shallow_quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("list", _shallow_list, {"alt": ["paragraph", "reference", "blockquote"]})
    return parser


def parse_tokens(text: str, references: EnvType) -> list[Token]:
    """The block tokens of a text with LF line ends; inline content is left unparsed, which keeps this linear.

    None of a text of more than ``MAX_LINES`` lines.
    """
    if text.count("\n") > MAX_LINES:
        return []
    parser = markdown()
    return parser.block.parse(text, parser, references, []) or []


def parse_blocks(text: str) -> tuple[Block, ...]:
    """The top-level blocks with the blocks inside them; blank lines and link definitions belong to none."""
    return _blocks([token for token in parse_tokens(text, {}) if token.type != "inline"])


def _blocks(tokens: Sequence[Token]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    start = 0
    depth = 0
    for position, token in enumerate(tokens):
        depth += token.nesting
        if depth > 0:
            continue
        opening = tokens[start]
        if opening.map is not None:
            kind = opening.type.removesuffix("_open")
            blocks.append(Block(kind, opening.map[0] + 1, opening.map[1], _blocks(tokens[start + 1 : position])))
        start = position + 1
    return tuple(blocks)


def _shallow_quote(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    return state.level < NESTING_LIMIT and blockquote(state, start_line, end_line, silent)


def _shallow_list(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    return state.level < NESTING_LIMIT and list_block(state, start_line, end_line, silent)
