import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.domain.sections import Heading, parse_headings


def outline(body: str, literal_lines: int = 0) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in parse_headings(body, literal_lines)]


def test_c5_atx_headings_of_all_six_levels_are_found_with_their_lines():
    body = "text\n# 一\n\n## 二 ##\n### c\n#### d\n##### e\n   ###### f"
    assert parse_headings(body) == (
        Heading(1, "一", 2, 2),
        Heading(2, "二", 4, 4),
        Heading(3, "c", 5, 5),
        Heading(4, "d", 6, 6),
        Heading(5, "e", 7, 7),
        Heading(6, "f", 8, 8),
    )


@pytest.mark.parametrize("line", ["##标题", "####### seven", "    # code", "\t# code", "\\# escaped", "#hashtag 话题"])
def test_c5_what_commonmark_does_not_call_a_heading_is_none(line):
    assert outline(f"# before\n\n{line}\n\n# after") == [(1, "before"), (1, "after")]


@pytest.mark.parametrize(
    "fence",
    [
        "```\n# no\n```",
        "~~~\n# no\n~~~",
        "   ```sh\n# no\n   ```",
        "~~~~\n~~~\n# no\n~~~\n~~~~",
        "````md\n```\n# no\n```\n# no\n````",
        "~~~\n```\n# no\n~~~",
        "```\nno\n===\n<h1>no</h1>\n```",
        "`<h2>no</h2>` in code",
    ],
)
def test_c5_code_holds_no_heading(fence):
    assert outline(f"# before\n\n{fence}\n\n# after") == [(1, "before"), (1, "after")]


def test_c5_an_unclosed_fence_hides_what_looks_like_a_heading_to_the_end():
    assert outline("# before\n```\n# no\n\n## no") == [(1, "before")]


def test_c5_a_setext_heading_spans_its_text_and_its_underline():
    assert parse_headings("标题\n===\n\ntwo\nlines\n---\ntext\n\n---\n") == (
        Heading(1, "标题", 1, 2),
        Heading(2, "two lines", 4, 6),
    )


def test_c5_a_rule_below_a_table_does_not_make_the_table_a_heading():
    assert outline("| a | b |\n|---|---|\n| 1 | 2 |\n---\n# after") == [(1, "after")]


def test_c5_a_heading_inside_a_quote_or_a_list_does_not_head_the_text_after_it():
    assert outline("# a\n\n> # no\n\n- # no\n\n  ## no\n\n1. <h2>no</h2>\n\n# b") == [(1, "a"), (1, "b")]


def test_c5_a_heading_without_text_is_none():
    assert outline('#\n\n## ##\n\n<h3 id="1.1"></h3>\n\n### <a id="x"></a>\n\n# a') == [(1, "a")]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("**粗** _斜_ `x_y`", "粗 斜 x_y"),
        ("[链接](http://a.b/c_d) ![图](i.png)", "链接 图"),
        ("[by reference][r]", "by reference"),
        ("a &amp; b &#x4e2d; \\*c\\*", "a & b 中 *c*"),
        ('<a id="x"></a>标题<br/>下', "标题 下"),
        ("  a \t  b  ", "a b"),
        ("标题 {#custom-id}", "标题"),
        ("use {braces}", "use {braces}"),
        ("List<String> & ERR_TIMEOUT_X", "List & ERR_TIMEOUT_X"),
        ("1. 初步评估", "1. 初步评估"),
        (f"![图](https://a.b/{'x' * 600}) 尾", "图 尾"),
    ],
)
def test_c5_a_title_is_the_plain_text_of_the_heading(written, title):
    assert outline(f"## {written}\n\n[r]: http://a.b") == [(2, title)]


def test_c5_an_endless_title_is_cut():
    ((_, title),) = outline("好" * 5000 + "\n---")
    assert title == "好" * 199 + "…"


def test_f3_the_literal_lines_hold_no_heading_and_later_lines_keep_their_numbers():
    body = "---\n# no\nkeywords: [a\n---\n# yes\n\n## too"
    assert parse_headings(body, 4) == (Heading(1, "yes", 5, 5), Heading(2, "too", 7, 7))
    assert parse_headings(body, 40) == ()


@pytest.mark.parametrize("nesting", ["> ", "- ", "> - ", "1. "])
def test_c5_a_heading_after_blocks_nested_beyond_the_limit_of_the_parser_is_found(nesting):
    assert outline(f"{nesting * 300}deep\n\nparagraph\n\n# after") == [(1, "after")]


def test_c5_a_heading_after_a_deep_staircase_of_lists_is_found():
    stairs = "\n".join("  " * depth + "- item" for depth in range(60))
    assert outline(f"{stairs}\n\n# after\n\ntext") == [(1, "after")]


@pytest.mark.parametrize(
    ("unit", "titles"),
    [("[", 1), ("*", 1), (">", 1), ("> ", 1), ("- ", 1), ("a", 1), ("![](", 1), ("<a '", 1), ("`", 0), ("<!--", 0)],
)
def test_c5_a_heading_after_200_kb_of_hostile_text_is_found_unless_code_or_a_comment_holds_it(unit, titles):
    assert outline(unit * (200_000 // len(unit)) + "\n\n# last") == [(1, "last")][:titles]


def test_c5_a_title_of_many_links_stays_as_it_is_written():
    assert outline("# " + "[a](b) " * 6) == [(1, "a a a a a a")]
    assert outline("# " + "[a](b) " * 7) == [(1, " ".join(["[a](b)"] * 7))]


def test_c5_a_title_of_brackets_alone_stays_as_it_is_written():
    assert outline("# " + "[" * 150) == [(1, "[" * 150)]


BLOCKS = "# 甲|## 乙|丙\n---|<h3>丁</h3>|text||```|~~~|> # q|- # i|    # c|---|=|-|\t|#|1. a|&#0;|\\|\f# x"
HTML = "<div>|</div>|<!--|-->|<h2>|</h2>|[r]: x"
markdown_lines = st.lists(st.sampled_from([*BLOCKS.split("|"), *HTML.split("|"), "| a |", "|---|"]), max_size=30)


@settings(deadline=None)
@given(markdown_lines)
def test_c5_headings_lie_in_the_body_in_order(parts):
    body = "\n".join(parts)
    headings = parse_headings(body)
    lines = [heading.line for heading in headings]
    assert lines == sorted(lines)
    assert all(1 <= heading.line <= heading.last_line <= body.count("\n") + 1 for heading in headings)
    assert all(heading.title.strip() == heading.title != "" for heading in headings)


@settings(deadline=None)
@given(st.text(st.sampled_from("#=-<h1>/`~*_[]()!&;\\ \t\n甲a\x00\u2028\u0301"), max_size=200))
def test_c5_no_text_makes_the_parser_fail(body):
    assert all(1 <= heading.level <= 6 for heading in parse_headings(body))


@settings(deadline=None)
@given(markdown_lines, markdown_lines)
def test_f3_literal_lines_only_move_the_headings_of_the_rest(literal, parts):
    count = sum(line.count("\n") + 1 for line in literal)
    rest = parse_headings("\n".join(parts))
    moved = parse_headings("\n".join([*literal, *parts]), count)
    assert moved == tuple(Heading(each.level, each.title, each.line + count, each.last_line + count) for each in rest)
