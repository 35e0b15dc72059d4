import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.domain.chunking import ChunkingOptions, split_document
from kbapp.domain.documents import Document, TitleSource

BLOCKS = [
    "# 一",
    "## 二",
    "### 三",
    "标题\n===",
    '<h2 id="x">四</h2>',
    "<h1>a</h1><h2>b</h2>",
    "短",
    "说明：",
    "这是一段中文。它有两句话！" * 6,
    "An English sentence, not short. And one more? " * 8,
    "字" * 130,
    "x" * 130,
    "  indented\n\tby tab  ",
    "```\n# code\n\nmore\n```",
    "~~~\n" + "code line\n" * 12 + "~~~",
    "```",
    "| a | b |\n|---|---|\n" + "| 1 | 二 |\n" * 12,
    "- item\n  - nested\n\n    text\n" * 5,
    "> " * 40 + "deep",
    "> quote\n> # no\n\n",
    "<div>\n<b>x</b>\n</div>",
    "[r]: http://a.b",
    "    code\n\n    code",
    "---",
    "<!-- c -->",
    "\n\n\n",
    "👨‍👩‍👧‍👦" * 30,
    "\f\u2028\u3000",
]
bodies = st.lists(st.sampled_from(BLOCKS), max_size=25).map("\n\n".join) | st.lists(st.sampled_from(BLOCKS)).map(
    "\n".join
)
sizes = st.sampled_from([20, 50, 120, 500])


def document(body: str) -> Document:
    return Document("a.md", "题", TitleSource.FRONTMATTER, None, body, 4, 0, "", None)


@settings(deadline=None)
@given(bodies, sizes)
def test_c6_the_chunks_of_a_document_put_together_are_its_body_but_for_blank_lines(body, size):
    position = 0
    for chunk in split_document(document(body), ChunkingOptions(size)):
        start = body.index(chunk.content, position)
        assert not body[position:start].strip()
        position = start + len(chunk.content)
    assert not body[position:].strip()


@settings(deadline=None)
@given(bodies, sizes)
def test_c6_no_chunk_is_empty_or_longer_than_the_limit(body, size):
    chunks = split_document(document(body), ChunkingOptions(size))
    assert all(chunk.content.strip() and len(chunk.content) <= size for chunk in chunks)
    assert [(chunk.index, chunk.total) for chunk in chunks] == [(index, len(chunks)) for index in range(len(chunks))]


@settings(deadline=None)
@given(bodies, sizes)
def test_c7_line_ranges_are_those_of_the_file_and_only_parts_of_one_line_share_a_line(body, size):
    end = last_line = 0
    for chunk in split_document(document(body), ChunkingOptions(size)):
        start = body.index(chunk.content, end)
        end = start + len(chunk.content)
        assert chunk.lines == (4 + body.count("\n", 0, start), 4 + body.count("\n", 0, end))
        assert chunk.lines[0] > last_line or "\n" not in body[start - 1 : start]
        last_line = chunk.lines[1]


@settings(deadline=None)
@given(bodies, st.integers(1, 3))
def test_c7_blank_lines_at_the_top_change_the_line_numbers_alone(body, count):
    chunks, moved = split_document(document(body)), split_document(document("\n" * count + body))
    assert [chunk.embedded_text for chunk in chunks] == [chunk.embedded_text for chunk in moved]
    assert [(first + count, last + count) for first, last in (chunk.lines for chunk in chunks)] == [
        chunk.lines for chunk in moved
    ]


@settings(deadline=None)
@given(bodies)
def test_c4_every_embedded_text_is_the_breadcrumb_and_the_content(body):
    for chunk in split_document(document(body)):
        assert chunk.embedded_text == f"{chunk.breadcrumb}\n{chunk.content}"


@settings(deadline=None)
@given(bodies, bodies)
def test_c7_a_change_in_one_section_leaves_the_chunks_of_another_as_they_are(first, second):
    kept = "# 留\n\n" + "。".join(f"第{number}句不变" * 5 for number in range(60))
    before, after = (
        [chunk.embedded_text for chunk in split_document(document(f"{kept}\n\n# 变\n\n正文\n\n{changed}"))]
        for changed in (first, second)
    )
    unchanged = [chunk.embedded_text for chunk in split_document(document(kept))]
    assert before[: len(unchanged)] == after[: len(unchanged)] == unchanged


def paragraph(source: random.Random) -> str:
    return (
        "".join(
            source.choice("的一是在不了有和人这中大为上个国我以要他") for _ in range(source.choice([30, 90, 200, 400]))
        )
        + "。"
    )


@pytest.mark.parametrize("max_characters", [500, 800])
def test_c7_a_new_paragraph_in_a_section_of_sixty_embeds_less_than_two_chunks_on_average_and_never_more_than_four(
    max_characters,
):
    counts = []
    for seed in range(60):
        source = random.Random(seed)
        paragraphs = [paragraph(source) for _ in range(60)]
        position = source.randrange(61)
        longer = [*paragraphs[:position], paragraph(source), *paragraphs[position:]]
        before, after = (
            {
                chunk.embedded_text
                for chunk in split_document(document("## 节\n\n" + "\n\n".join(each)), ChunkingOptions(max_characters))
            }
            for each in (paragraphs, longer)
        )
        counts.append(len(after - before))
    assert 1 <= max(counts) <= 4
    assert sum(counts) < 2 * len(counts)
