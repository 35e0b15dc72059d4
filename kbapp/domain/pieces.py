"""A section's text to spans of bounded length whose boundaries depend on the text around them alone."""

from __future__ import annotations

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial

from kbapp.domain.markdown_blocks import MAX_LINES, Block, parse_blocks
from kbapp.domain.text_cuts import Lines, bounded_parts, lines, sentences, trimmed

Span = tuple[int, int]

# A text that ends in a colon, or a block shorter than this, leads to what follows it and is not cut from it lightly.
INTRODUCTION_CHARACTERS = 40
# No cut leaves less than this share of the limit, while another cut is possible.
SMALLEST_SHARE = 5

_LISTS = ("bullet_list", "ordered_list")
_PROSE = ("paragraph", "heading")

_Splitter = Callable[[str, int, int], Iterator[Span]]


class Cut(IntEnum):
    """What a cut in front of a piece separates; the smaller, the sooner it is made.

    Parts are rows, stanzas, blocks within an item and sentences that end with their line.
    """

    BLOCKS = 0
    ITEMS = 1
    PARTS = 2
    LINES_OR_SENTENCES = 3
    WORDS = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """``text[start:end]``, which stays whole, and the kind of the cut in front of it."""

    start: int
    end: int
    cut: Cut


_LINE_SPLITTERS: tuple[_Splitter, ...] = (lines,)
_PROSE_SPLITTERS: tuple[_Splitter, ...] = (sentences, lines)


def split_text(text: str, head: int, limit: int) -> list[Span]:
    """The spans of a section's text, each at most ``limit`` characters, which hold every line that is not blank.

    ``text[:head]`` are heading lines: they go with what follows them. Paragraphs, list items, tables and fences stay
    whole while they fit. Where to cut is chosen by the pieces themselves, not by counting from the top, so that a
    change in one place moves few other boundaries.
    """
    start, end = trimmed(text, 0, len(text))
    if end - start <= limit:
        return [(start, end)] if end > start else []
    if text.count("\n") > MAX_LINES:  # as many pieces would take minutes to weigh
        spans = list(bounded_parts(text, start, end, limit))
    else:
        spans = _cut_pieces(text, _section_pieces(text, start, head, limit), limit)
    return [(start, end) for start, end in (trimmed(text, *span) for span in spans) if start < end]


def _section_pieces(text: str, start: int, head: int, limit: int) -> list[Piece]:
    first = trimmed(text, head, len(text))[0]
    heading_characters = first - start
    if heading_characters > limit // 2:
        heading = [
            Piece(*span, Cut.LINES_OR_SENTENCES)
            for line in lines(text, start, head)
            for span in bounded_parts(text, *line, limit)
        ]
        return heading + _body_pieces(text, first, limit, limit)
    pieces = _body_pieces(text, first, limit, limit - heading_characters)
    return [replace(pieces[0], start=start), *pieces[1:]]


def _body_pieces(text: str, start: int, limit: int, first_limit: int) -> list[Piece]:
    body = Lines.of(text[start:])
    blocks = _covering(parse_blocks(body.text), 1, len(body.starts))
    pieces: list[Piece] = []
    for block in blocks:
        pieces.extend(_block_pieces(body, block, Cut.BLOCKS, limit if pieces else first_limit))
    return [Piece(piece.start + start, piece.end + start, piece.cut) for piece in pieces]


def _block_pieces(body: Lines, block: Block, cut: Cut, limit: int) -> Iterator[Piece]:
    start, end = trimmed(body.text, *body.span(block.first_line, block.last_line))
    if start == end:
        return
    if end - start <= limit:
        yield Piece(start, end, cut)
        return
    parts = _parts_of(body, block)
    if len(parts) > 1 or block.children:
        inner = Cut.ITEMS if block.kind in _LISTS else Cut.PARTS
        for position, part in enumerate(parts):
            yield from _block_pieces(body, part, cut if position == 0 else max(cut, inner), limit)
    else:
        splitters = _PROSE_SPLITTERS if block.kind in _PROSE else _LINE_SPLITTERS
        yield from _text_pieces(body.text, Piece(start, end, cut), splitters, limit)


def _parts_of(body: Lines, block: Block) -> list[Block]:
    if block.kind == "table":
        # The header, the rule below it and the first row say what the table is about only together.
        rows = range(min(block.first_line + 3, block.last_line + 1), block.last_line + 1)
        return [
            Block("row", block.first_line, min(block.first_line + 2, block.last_line), ()),
            *(_row(row) for row in rows),
        ]
    if block.children:
        return list(_covering(block.children, block.first_line, block.last_line))
    if block.kind in _PROSE:
        return []
    return list(_stanzas(body, block))


def _row(line: int) -> Block:
    return Block("row", line, line, ())


def _stanzas(body: Lines, block: Block) -> Iterator[Block]:
    """The parts of code or HTML between blank lines."""
    first = block.first_line
    for line in range(block.first_line, block.last_line):
        if line > first and not body.text[slice(*body.span(line, line))].strip():
            yield Block("stanza", first, line, ())
            first = line + 1
    yield Block("stanza", first, block.last_line, ())


def _covering(blocks: Sequence[Block], first: int, last: int) -> Iterator[Block]:
    """The blocks, and one more for each run of lines between them: link definitions and the like."""
    for block in blocks:
        if block.first_line > first:
            yield Block("definition", first, block.first_line - 1, ())
        yield block
        first = block.last_line + 1
    if first <= last:
        yield Block("definition", first, last, ())


def _text_pieces(text: str, piece: Piece, splitters: Sequence[_Splitter], limit: int) -> Iterator[Piece]:
    if piece.end - piece.start <= limit:
        yield piece
        return
    split = splitters[0] if splitters else partial(bounded_parts, limit=limit)
    cut = piece.cut
    for start, end in split(text, piece.start, piece.end):
        yield from _text_pieces(text, Piece(start, end, cut), splitters[1:], limit)
        cut = max(piece.cut, _cut_within_text(text, end, split))


def _cut_within_text(text: str, position: int, split: _Splitter) -> Cut:
    if split is sentences:
        return Cut.PARTS if text[position - 1] == "\n" else Cut.LINES_OR_SENTENCES
    return Cut.LINES_OR_SENTENCES if split is lines else Cut.WORDS


def _cut_pieces(text: str, pieces: Sequence[Piece], limit: int) -> list[Span]:
    """Runs of pieces: what does not fit is cut in front of the piece that ranks first, and so are its halves."""
    ranks = [_rank(text, left, right) for left, right in zip([pieces[0], *pieces], pieces, strict=False)]
    starts = [piece.start for piece in pieces]
    spans: list[Span] = []
    waiting = [(0, len(pieces))]
    while waiting:
        first, last = waiting.pop()
        start, end = starts[first], pieces[last - 1].end
        if last - first == 1 or end - start <= limit:
            spans.append((start, end))
            continue
        margin = limit // SMALLEST_SHARE
        after = bisect_left(starts, start + margin, first + 1, last)
        candidates = range(after, bisect_right(starts, end - margin, after, last)) or range(first + 1, last)
        best = min(ranks[position] for position in candidates)
        # Among equal texts the middle one, or a document of equal lines would take quadratic time.
        ties = (position for position in candidates if ranks[position] == best)
        cut = min(ties, key=lambda position: abs(2 * position - first - last))
        waiting += [(cut, last), (first, cut)]
    return spans


def _rank(text: str, left: Piece, right: Piece) -> tuple[int, int]:
    """The order of cuts: first where least is torn apart, among equals by a hash of the text behind the cut."""
    before = text[left.start : left.end].rstrip()
    is_short_block = right.cut is Cut.BLOCKS and len(before) < INTRODUCTION_CHARACTERS
    leads_on = is_short_block or before.endswith((":", "："))
    return right.cut + 2 * leads_on, zlib.crc32(text[right.start : right.end].strip().encode("utf-8", "surrogatepass"))
