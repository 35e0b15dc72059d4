"""Whether a given text holds the evidence, and whether it stands under the right heading."""

from __future__ import annotations

import pytest

from kbapp.domain.answer_checks import chunk_is_in, holds_all, labelled_section, summary_starts_in
from kbapp.domain.documents import Document, TitleSource

BODY = """# 连接池

概述。

## 参数

maximumPoolSize 取核数的两倍。

### 泄漏检测

15000 ms

## 告警

等待超过 1 分钟。
"""
DOCUMENT = Document("a.md", "连接池", TitleSource.HEADING, None, BODY, 4, 0, "h", None)  # behind 3 lines of frontmatter


def test_evidence_is_found_whatever_the_case_width_and_line_ends() -> None:
    text = "| `maxLifetime` | 1740000 ms |\n| ＰＯＯＬ\n size |"
    assert holds_all(text, ["maxlifetime` | 1740000MS", "pool size"])
    assert not holds_all(text, ["maxLifetime", "29 分钟"])


@pytest.mark.parametrize(
    ("heading", "lines", "is_in"),
    [
        ("参数", (8, 10), True),
        ("参数", (12, 14), True),  # its subsection
        ("泄漏检测", (8, 14), True),  # begins with the heading above
        ("泄漏检测", (8, 10), False),
        ("告警", (12, 14), False),
        ("参数", (16, 18), False),
        ("连接池", (16, 18), True),
    ],
)
def test_a_chunk_belongs_to_the_section_in_which_it_ends(heading: str, lines: tuple[int, int], is_in: bool) -> None:
    section = labelled_section(DOCUMENT, heading)
    assert section is not None
    assert chunk_is_in(section, DOCUMENT, lines) is is_in


def test_a_heading_that_the_document_lacks_is_none() -> None:
    assert labelled_section(DOCUMENT, "容量") is None


@pytest.mark.parametrize(
    ("summary", "is_in"),
    [
        ("文档: 连接池\n---\nmaximumPoolSize 取核数的两倍。\n15000 ms", True),
        ("文档: 连接池\n---\nmaximumPool", True),  # cut
        ("文档: 连接池\n---\n等待超过 1 分钟。", False),
        ("文档: maximumPoolSize 取核数的两倍。", False),
        ("文档: 连接池\n---\n", False),
    ],
)
def test_a_summary_counts_where_its_body_text_begins(summary: str, is_in: bool) -> None:
    section = labelled_section(DOCUMENT, "参数")
    assert section is not None
    assert summary_starts_in(section, summary) is is_in
