import pytest

from kbapp.domain.html_parts import html_parts
from kbapp.domain.sections import Heading, parse_headings


def test_c5_html_headings_count_with_attributes_and_inner_tags():
    body = "<h2 id=\"1.2\" class='a>b'>服务 <b>注册</b>&nbsp;&amp; 注销</h2>\n\ntext\n\n<H3>Upper</H3>"
    assert parse_headings(body) == (Heading(2, "服务 注册 & 注销", 1, 1), Heading(3, "Upper", 5, 5))


def test_c5_several_html_headings_in_one_block_count_each_with_its_line():
    body = "<div>\n<h2>一</h2>\n<p>text</p>\n<h3>二</h3><h4>三</h4>\n</div>"
    assert parse_headings(body) == (Heading(2, "一", 2, 2), Heading(3, "二", 4, 4), Heading(4, "三", 4, 4))


def test_c5_an_html_heading_may_span_lines():
    body = '<h1 align="center">\n  <img src="l.png" alt="标志">\n  名称\n</h1>\n\ntext'
    assert parse_headings(body) == (Heading(1, "标志 名称", 1, 4),)


def test_c5_an_html_heading_may_hold_a_markdown_paragraph():
    assert parse_headings("<h2>\n\n*名称*\n\n</h2>\n\ntext") == (Heading(2, "名称", 1, 5),)


def test_c5_an_html_heading_that_is_not_closed_ends_with_its_block():
    assert parse_headings("<h2>名称\n\ntext\n\n<h2>\n\n# next") == (Heading(2, "名称", 1, 1), Heading(1, "next", 7, 7))


def test_c5_an_html_heading_that_is_not_closed_ends_with_the_last_line_of_its_text():
    assert parse_headings("<h2>名称\n第二行\n\ntext") == (Heading(2, "名称 第二行", 1, 2),)


def test_c5_an_html_heading_behind_an_anchor_counts():
    assert parse_headings('text\n<a id="x"></a><h2>名称</h2> <h3>下</h3>') == (
        Heading(2, "名称", 2, 2),
        Heading(3, "下", 2, 2),
    )


@pytest.mark.parametrize(
    "body",
    [
        "the <h2>tag</h2> in prose",
        "<!-- <h2>no</h2> -->",
        "<div>\n<!-- <h2>no</h2>\n-->\n</div>",
        "<pre>\n<h2>no</h2>\n</pre>",
        "<script>\n'<h2>no</h2>'\n</script>",
        "<h2></h2>",
        "<h7>no</h7>",
        "<header>no</header>",
        "</h2> no",
    ],
)
def test_c5_what_a_browser_does_not_show_as_a_heading_is_none(body):
    assert parse_headings(body) == ()


def test_html_after_a_quote_without_its_partner_is_still_read():
    parts = list(html_parts("<a title=it's> <h2>x</h2>"))
    assert [(part.tag, part.closing, part.text) for part in parts] == [
        ("a", False, ""),
        ("", False, " "),
        ("h2", False, ""),
        ("", False, "x"),
        ("h2", True, ""),
    ]


@pytest.mark.parametrize(
    "unit", ["<a '", '<a "', "<", "</", "<!--", "<!", "<?", "<pre>", "<script></", "<a ", "<img  alt = "]
)
def test_hostile_html_of_200_kb_is_read(unit):
    html = unit * (200_000 // len(unit))
    assert sum(len(part.text) for part in html_parts(html)) <= len(html)
