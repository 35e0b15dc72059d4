import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.domain.sections import parse_headings, section_text, split_sections

BODY = """preamble

# 手册

intro

## 部署

### 配置

one

## 运维

### 配置

two

### Troubleshooting  Guide

three

#### deep

four

# 附录
"""


def paths(body: str) -> list[str]:
    return [" > ".join(section.breadcrumb_titles) for section in split_sections(body, parse_headings(body))]


def found(title: str, document_title: str = "") -> str | None:
    section = section_text(BODY, parse_headings(BODY), title, document_title)
    return section.text if section else None


def test_c2_skipped_levels_do_not_nest():
    assert paths("# A\n### B\n### C\n") == ["A", "A > B", "A > C"]


def test_c2_the_stack_pops_every_level_that_is_not_above_the_new_one():
    assert paths("## a\n#### b\n### c\n##### d\n## e\n# f\n## g") == [
        "a",
        "a > b",
        "a > c",
        "a > c > d",
        "e",
        "f",
        "f > g",
    ]


def test_c6_text_before_the_first_heading_is_a_section_without_heading():
    sections = split_sections(BODY, parse_headings(BODY))
    assert (sections[0].heading, sections[0].first_line, sections[0].last_line) == (None, 1, 2)
    assert split_sections("\n\n# a\n", parse_headings("\n\n# a\n"))[0].first_line == 3


def test_c5_of_several_headings_on_one_line_the_last_one_heads_the_text():
    body = "<h1>a</h1><h2>b</h2>\n\ntext"
    (section,) = split_sections(body, parse_headings(body))
    assert (section.breadcrumb_titles, section.first_line, section.last_line) == (("a", "b"), 1, 3)


levels = st.lists(st.tuples(st.integers(1, 6), st.sampled_from("甲乙丙")), max_size=20)


@settings(deadline=None)
@given(levels)
def test_c2_every_path_climbs_to_its_own_heading(pairs):
    body = "\n".join(f"{'#' * level} {title}\n\ntext" for level, title in pairs)
    for section in split_sections(body, parse_headings(body)):
        steps = [heading.level for heading in section.path]
        assert steps == sorted(set(steps))
        assert section.path[-1] == section.heading
        lines_between = range(section.path[0].line, section.first_line)
        above = [heading for heading in parse_headings(body) if heading.line in lines_between]
        assert all(heading.level > section.path[0].level for heading in above[1:])


@settings(deadline=None)
@given(st.lists(st.sampled_from(["# a", "## b", "t", "", "b\n-", "<h1>x</h1><h2>y</h2>", "```"]), max_size=20))
def test_c6_sections_hold_every_line_with_text_once_and_in_order(parts):
    body = "\n".join(parts)
    lines = body.split("\n")
    numbers = [
        number
        for section in split_sections(body, parse_headings(body))
        for number in range(section.first_line, section.last_line + 1)
        if lines[number - 1].strip()
    ]
    assert numbers == [number for number, line in enumerate(lines, start=1) if line.strip()]


def test_q6_an_exact_title_gives_the_section_with_its_subsections():
    section = section_text(BODY, parse_headings(BODY), "部署")
    assert section is not None
    assert (section.title, section.text) == ("部署", "## 部署\n\n### 配置\n\none")
    assert (section.first_line, section.last_line) == (7, 11)
    assert BODY.split("\n")[section.first_line - 1 : section.last_line] == section.text.split("\n")


def test_q6_the_first_of_several_sections_with_one_title_is_meant():
    assert found("配置") == "### 配置\n\none"


@pytest.mark.parametrize("path", ["运维 > 配置", "手册 > 运维 > 配置"])
def test_q6_a_path_tells_sections_with_one_title_apart(path):
    assert found(path) == "### 配置\n\ntwo"


def test_q6_a_breadcrumb_may_begin_with_the_title_of_the_document():
    assert found("文档 > 手册 > 运维 > 配置", "文档") == "### 配置\n\ntwo"
    assert found("别的 > 手册 > 运维 > 配置", "文档") is None


@pytest.mark.parametrize(
    "title", ["troubleshooting guide", "TROUBLESHOOTING  GUIDE", "Ｔroubleshooting guide", "trouble"]
)
def test_q6_case_width_and_a_unique_beginning_find_a_section(title):
    assert found(title) == "### Troubleshooting  Guide\n\nthree\n\n#### deep\n\nfour"


@pytest.mark.parametrize("title", ["", "  ", "没有", "guide", " > ", "配置 > 运维"])
def test_q6_what_names_no_section_finds_none(title):
    assert found(title) is None


def test_q6_a_beginning_of_two_titles_finds_none():
    body = "## 配置中心\n\n## 配置项\n"
    assert section_text(body, parse_headings(body), "配置") is None


def test_q6_an_exact_title_wins_over_another_case_and_a_longer_title():
    body = "## redis cluster\n\n## Redis\n\na\n\n## redis\n\nb"
    section = section_text(body, parse_headings(body), "redis")
    assert section is not None
    assert section.text == "## redis\n\nb"


def test_q6_a_section_without_text_is_its_heading():
    assert found("附录") == "# 附录"
