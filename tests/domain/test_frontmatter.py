"""Frontmatter and body of a document (F1-F3, F6, F7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain import frontmatter
from kbapp.domain.documents import Frontmatter
from kbapp.domain.frontmatter import FrontmatterAliases, FrontmatterBlock, has_frontmatter, parse, split_frontmatter

EXAMPLE = """---
title: 支付网关错误码定义
keywords: [ERR_TIMEOUT, 超时, 支付网关]
summary: 记录了支付网关所有核心错误码的含义及排查方向
---

# 正文内容
"""


def test_f1_the_documents_example_is_read() -> None:
    assert has_frontmatter(EXAMPLE)
    assert parse(EXAMPLE) == Frontmatter(
        title="支付网关错误码定义",
        keywords=("ERR_TIMEOUT", "超时", "支付网关"),
        summary="记录了支付网关所有核心错误码的含义及排查方向",
        values={
            "title": "支付网关错误码定义",
            "keywords": ["ERR_TIMEOUT", "超时", "支付网关"],
            "summary": "记录了支付网关所有核心错误码的含义及排查方向",
        },
    )


def test_f1_other_keys_are_kept_as_written() -> None:
    found = parse("---\ntitle: t\ndate: 2024-01-01\ncategory: api\nsections: [a, {b: on}]\n---\n")
    assert found is not None
    assert found.values == {"title": "t", "date": "2024-01-01", "category": "api", "sections": ["a", {"b": "on"}]}


def test_f1_the_body_starts_after_the_block_and_is_not_stripped() -> None:
    block = split_frontmatter(EXAMPLE + "\n\n  end  \n\n")
    assert block.body == "\n# 正文内容\n\n\n  end  \n\n"
    assert (block.body_first_line, block.literal_lines, block.problem) == (6, 0, None)


def test_f1_a_block_that_ends_the_file_leaves_an_empty_body() -> None:
    block = split_frontmatter("---\ntitle: t\n---")
    assert (block.body, block.body_first_line) == ("", 4)


@pytest.mark.parametrize(
    "text", ["\n \n---\ntitle: t\n---\nb", "--- \ntitle: t\n---\t\nb", "---\n\ntitle: t\n\n---\nb"]
)
def test_f1_blank_lines_and_trailing_blanks_around_the_delimiters_do_not_matter(text: str) -> None:
    block = split_frontmatter(text)
    assert block.frontmatter is not None
    assert block.frontmatter.title == "t"
    assert block.body == "b"
    assert text.split("\n")[block.body_first_line - 1 :] == ["b"]


def test_f1_an_empty_block_is_a_frontmatter_without_values() -> None:
    assert split_frontmatter("---\n---\ntext") == FrontmatterBlock(Frontmatter(None, (), None, {}), "text", 3)


def test_f1_a_title_is_one_line_and_never_a_list_or_a_mapping() -> None:
    assert _frontmatter("title: |\n  first\n  second\n").title == "first second"
    assert _frontmatter("title: [a, b]").title is None
    assert _frontmatter("title: {a: b}").title is None
    assert _frontmatter("title: 502").title == "502"


@pytest.mark.parametrize("null", ["", "~", "null", '"  "'])
def test_f1_an_empty_or_null_value_is_missing(null: str) -> None:
    found = _frontmatter(f"title: {null}\nsummary: {null}\nkeywords: {null}")
    assert (found.title, found.summary, found.keywords) == (None, None, ())


@pytest.mark.parametrize(
    "text",
    [
        "# 普通文档\n\n这是正文内容。\n",
        "",
        "\n",
        "---",
        "---\n",
        "----\ntitle: t\n----\n",
        " ---\ntitle: t\n---\n",
        "text\n---\na: b\n---\n",
    ],
)
def test_f2_a_text_without_frontmatter_is_all_body(text: str) -> None:
    assert not has_frontmatter(text)
    assert parse(text) is None
    assert split_frontmatter(text) == FrontmatterBlock(None, text)


MALFORMED = {
    "no closing line": ("---\ntitle: 缺少结束标记\nkeywords: [ERR_TIMEOUT\n# 正文\n\n正文内容\n", 3),
    "no closing line, then a blank": ("---\ntitle: t\nkeywords: [a]\n\ntext\n", 3),
    "no closing line, a rule below": ("---\ntitle: t\nkeywords: [a\n# 正文\n\ntext\n\n---\n\nmore\n", 3),
    "a colon in a value": ("---\ntitle: Error: disk full\n---\n# 正文\n", 3),
    "an open list": ("---\nkeywords: [a\ntitle: t\n---\n# 正文\n", 4),
    "an open list and a comment": ("---\ntitle: t\n# 注释\nkeywords: [a\n---\n# 正文\n", 5),
    "a template": ("---\ntitle: {{ page.title }}\n---\n# 正文\n", 3),
    "a full-width colon": ("---\ntitle：支付网关\nkeywords：[超时]\n---\n# 正文\n", 4),
    "no blank after the colon": ("---\ntitle:支付网关\n---\n# 正文\n", 3),
    "tabs": ("---\ntitle: t\nkeywords:\n\t- a\n---\n# 正文\n", 5),
    "too long": ("---\ntitle: t\n" + "a: b\n" * 20_000 + "---\n# 正文\n", 20_002),
    "a bomb": ("---\na: &a [" + "x," * 9_000 + "]\nb: [*a, *a, *a, *a, *a]\n---\n# 正文\n", 4),
}


@pytest.mark.parametrize(("text", "literal_lines"), MALFORMED.values(), ids=MALFORMED.keys())
def test_f3_malformed_frontmatter_has_a_problem_and_loses_no_text(text: str, literal_lines: int) -> None:
    block = split_frontmatter(text)
    assert parse(text) is None
    assert has_frontmatter(text)
    assert block.problem
    assert block.problem.startswith("the frontmatter ")
    assert (block.body, block.body_first_line) == (text, 1)
    if literal_lines < 10_000:
        assert block.literal_lines == literal_lines


def test_f3_a_line_cut_at_the_end_of_the_search_does_not_close_the_block() -> None:
    head = "\n" * 2_000 + "---\ntitle: t\n"
    text = head + "#" * (frontmatter._REACH - len(head) - 4) + "\n------\n---\nbody"
    assert text[: frontmatter._REACH].endswith("\n---")
    block = split_frontmatter(text)
    assert (block.frontmatter, block.body) == (None, text)


def test_f3_the_problem_names_the_line_in_the_file() -> None:
    block = split_frontmatter("\n---\nkeywords: [a]\ntitle: Error: disk full\n---\n")
    assert block.problem is not None
    assert "line 4" in block.problem


FOREIGN = {
    "a letterhead": ("---\n某某公司技术部\n作者：张三\n---\n# 正文\n", 4),
    "a letterhead with blanks": ("---\n某某公司技术部\n\n2024 年\n---\n# 正文\n", 5),
    "a table": ("---\n| a | b |\n|---|---|\n| 1 | 2 |\n---\n", 5),
    "a list": ("---\n- a\n- b\n---\n", 4),
    "a quote": ("---\n> 版本: 1.0\n---\n", 3),
    "a paragraph in bold": ("---\n**作者:** 张三\n---\n", 3),
    "a comment": ("---\n# 正文\n---\n", 1),
    "a section below a paragraph": ("---\n说明\n\n# 正文\n\n内容\n\n---\n", 3),
    "a fence": ("---\n说明\n```yaml\n# no heading\n```\n---\n", 2),
}


@pytest.mark.parametrize(("text", "literal_lines"), FOREIGN.values(), ids=FOREIGN.keys())
def test_f6_a_first_block_that_is_no_mapping_is_body_text(text: str, literal_lines: int) -> None:
    assert split_frontmatter(text) == FrontmatterBlock(None, text, literal_lines=literal_lines)
    assert not has_frontmatter(text)


@pytest.mark.parametrize(
    "text",
    [
        "---\n\n# 手册\n\n负责人: 张三\n\n---\n\n更多\n",
        "---\n一段文字\n\n更多\n",
        "---\n\n一段文字\n",
        "# 手册\n\n---\n\na: b\n\n---\n",
    ],
)
def test_f6_rules_in_the_body_are_body_text(text: str) -> None:
    assert split_frontmatter(text) == FrontmatterBlock(None, text)


def test_f6_rules_after_the_frontmatter_stay_in_the_body() -> None:
    assert split_frontmatter("---\ntitle: t\n---\na\n\n---\n\nb: c\n---\n").body == "a\n\n---\n\nb: c\n---\n"


def test_f7_description_and_tags_stand_in() -> None:
    found = _frontmatter("description: d\ntags: [a, b]")
    assert (found.summary, found.keywords) == ("d", ("a", "b"))
    found = _frontmatter("summary: ''\ndescription: d\nkeywords: []\ntags: a, b")
    assert (found.summary, found.keywords) == ("d", ("a", "b"))


def test_f7_aliases_do_not_replace_what_is_there() -> None:
    found = _frontmatter("description: d\nsummary: s\ntags: [a]\nkeywords: [b]")
    assert (found.summary, found.keywords) == ("s", ("b",))


def test_f7_aliases_are_a_setting() -> None:
    aliases = FrontmatterAliases(keywords=("标签", "labels"), summary=())
    found = parse("---\ndescription: d\ntags: [a]\nlabels: [b]\n---\n", aliases)
    assert found is not None
    assert (found.summary, found.keywords) == (None, ("b",))


def test_f5_parse_takes_a_bom_and_any_line_ends() -> None:
    for text in (EXAMPLE.replace("\n", "\r\n"), EXAMPLE.replace("\n", "\r"), "\ufeff" + EXAMPLE):
        assert has_frontmatter(text)
        assert parse(text) == parse(EXAMPLE)


LINES = st.lists(
    st.sampled_from(
        ["---", "--- ", "----", "", " ", "# h", "title: t", "keywords: [a", "a: b: c", "```", "- x", "text", "\ttab"]
    )
    | st.text(st.characters(exclude_characters="\r\n"), max_size=20),
    max_size=12,
)


@given(LINES, st.booleans())
def test_no_text_raises_and_no_line_is_lost(lines: list[str], opens: bool) -> None:
    text = "\n".join(["---", *lines] if opens else lines)
    block = split_frontmatter(text)
    head = text.removesuffix(block.body) if block.body else text
    if block.frontmatter is None:
        assert (block.body, block.body_first_line) == (text, 1)
        assert 0 <= block.literal_lines <= text.count("\n") + 1
    else:
        assert text.split("\n")[block.body_first_line - 1 :] == (
            block.body.split("\n") if block.body else [""] * text.endswith("\n")
        )
        assert head.rstrip().endswith("---")
        assert (block.literal_lines, block.problem) == (0, None)


def _frontmatter(yaml: str) -> Frontmatter:
    found = parse(f"---\n{yaml}\n---\n")
    assert found is not None
    return found
