import pytest

from kbapp.domain.chunking import ChunkingOptions, split_document
from kbapp.domain.documents import Chunk, Document, TitleSource
from kbapp.domain.errors import UserError

FAULTS = """# 故障诊断流程规范

## 应急响应流程

### 1. 初步评估

内容一

### 2. 快速止血

内容二

## 根因分析方法

### 5-Why 分析法

内容三
"""


def document(body: str, title: str = "手册", source: TitleSource = TitleSource.FRONTMATTER) -> Document:
    return Document("api/handbook.md", title, source, None, body, 5, 0, "", None)


def chunks(body: str, title: str = "手册", **options: int) -> tuple[Chunk, ...]:
    return split_document(document(body, title), ChunkingOptions(**options))


def contents(body: str, **options: int) -> list[str]:
    return [chunk.content for chunk in chunks(body, **options)]


def test_c3_the_breadcrumbs_of_the_fault_document_come_out_as_written():
    assert [chunk.breadcrumb for chunk in chunks(FAULTS, "故障诊断流程规范")] == [
        "故障诊断流程规范 > 应急响应流程 > 1. 初步评估",
        "故障诊断流程规范 > 应急响应流程 > 2. 快速止血",
        "故障诊断流程规范 > 根因分析方法 > 5-Why 分析法",
    ]


def test_c3_the_chunk_of_an_error_code_knows_its_headings_and_its_title():
    (chunk,) = chunks(
        "# 支付网关错误码定义\n\n## 超时类错误\n\n### ERR_TIMEOUT\n\n**含义**：超时", "支付网关错误码定义"
    )
    assert chunk.breadcrumb == "支付网关错误码定义 > 超时类错误 > ERR_TIMEOUT"
    assert chunk.title == "超时类错误"
    assert (chunk.heading_h1, chunk.heading_h2, chunk.heading_h3) == ("支付网关错误码定义", "超时类错误", "ERR_TIMEOUT")


def test_c1_chunks_are_counted_and_know_their_headings_below_the_third_level():
    body = "intro\n\n## 二\n\na\n\n### 三\n\nb\n\n##### 五\n\nc\n\n# 一\n\nd"
    assert [
        (each.index, each.total, each.title, each.heading_h1, each.heading_h2, each.heading_h3) for each in chunks(body)
    ] == [
        (0, 5, "手册", "", "", ""),
        (1, 5, "二", "", "二", ""),
        (2, 5, "二", "", "二", "三"),
        (3, 5, "二", "", "二", "三"),
        (4, 5, "手册", "一", "", ""),
    ]


def test_c2_skipped_levels_do_not_nest():
    assert [each.breadcrumb for each in chunks("# A\n\n### B\n\nb\n\n### C\n\nc", "A")] == ["A > B", "A > C"]


def test_c2_an_h1_equal_to_the_title_appears_once_and_another_h1_is_a_step():
    body = "# Redis 手册\n\na\n\n# 别的\n\nb\n\n## Redis 手册\n\nc"
    breadcrumbs = [each.breadcrumb for each in chunks(body, "ＲＥＤＩＳ 手册")]
    assert breadcrumbs == ["ＲＥＤＩＳ 手册", "ＲＥＤＩＳ 手册 > 别的", "ＲＥＤＩＳ 手册 > 别的 > Redis 手册"]


def test_c4_the_breadcrumb_is_embedded_and_not_shown():
    (chunk,) = chunks("## 超时\n\n重试三次")
    assert chunk.content == "## 超时\n\n重试三次"
    assert chunk.embedded_text == "手册 > 超时\n## 超时\n\n重试三次"


def test_f7_a_title_from_the_file_name_is_shown_in_the_breadcrumb_and_never_embedded():
    first, second = split_document(document("intro\n\n## 超时\n\ntext", "handbook", TitleSource.FILE_NAME))
    assert (first.breadcrumb, first.embedded_text) == ("handbook", "intro")
    assert (second.breadcrumb, second.embedded_text) == ("handbook > 超时", "超时\n## 超时\n\ntext")


@pytest.mark.parametrize("body", ["", "\n\n", " \t\n　\n"])
def test_c6_a_document_without_text_has_no_chunks(body):
    assert chunks(body) == ()


def test_c6_text_before_the_first_heading_is_a_chunk():
    assert contents("intro\n\n# A\n\ntext") == ["intro", "# A\n\ntext"]


def test_c6_text_in_an_unclosed_fence_belongs_to_its_section():
    assert contents("# A\n\n```\n# code\n\n## code\n") == ["# A\n\n```\n# code\n\n## code"]


@pytest.mark.parametrize("filler", ["", "\n---", "\n<!-- toc -->", '\n<a name="x"></a>', "\n<br/>", "\n***\n\n___"])
def test_c6_a_heading_with_nothing_of_its_own_goes_with_the_chunk_that_follows(filler):
    assert contents(f"# A\n{filler}\n\n## B\n\ntext") == [f"# A\n{filler}\n\n## B\n\ntext"]


def test_c6_an_anchor_above_a_heading_goes_with_the_heading():
    anchor = '<a name="b"></a> <a id="c"></a>'
    first, second = chunks(f"# A\n\ntext\n{anchor}\n\n# B\n\n<a name='x'></a> text\n\n<a></a>")
    assert (first.content, first.lines) == ("# A\n\ntext", (5, 7))
    assert (second.content, second.lines) == (f"{anchor}\n\n# B\n\n<a name='x'></a> text\n\n<a></a>", (8, 14))


def test_c6_headings_without_text_at_the_end_go_with_the_last_chunk():
    assert contents("# A\n\ntext\n\n# B\n\n## C\n") == ["# A\n\ntext\n\n# B\n\n## C"]


def test_c6_a_document_of_headings_alone_is_one_chunk():
    (chunk,) = chunks("# A\n\n## B\n")
    assert (chunk.content, chunk.breadcrumb) == ("# A\n\n## B", "手册 > A > B")


def test_c6_headings_alone_that_do_not_fit_are_cut_and_leave_no_empty_chunk():
    assert contents("# 一\n\n<h2 id='x'>四</h2>\n\n\n\n", max_characters=20) == ["# 一", "<h2 id='x'>四</h2>"]


def test_c6_a_heading_stays_with_the_first_part_of_a_long_section():
    first, *_, last = contents("## 标题\n\n" + "\n\n".join(f"{n}" * 90 for n in range(8)), max_characters=200)
    assert first.startswith("## 标题\n\n00")
    assert last.endswith("77")


def test_c6_a_long_section_is_cut_between_paragraphs():
    paragraphs = [f"第{n}段" + "字" * 150 + "。" + "句" * 20 + "。" for n in range(9)]
    parts = contents("\n\n".join(paragraphs))
    assert len(parts) >= 4
    assert [paragraph for part in parts for paragraph in part.split("\n\n")] == paragraphs


def test_c6_a_long_paragraph_is_cut_at_sentence_ends():
    chinese = "".join(
        "字" * size + end for size, end in ((150, "。"), (150, "！”"), (150, "？"), (150, "；"), (150, "。"))
    )
    parts = contents(chinese)
    assert "".join(parts) == chinese
    assert all(part.endswith(("。", "！”", "？", "；")) for part in parts)
    english = " ".join("word " * 25 + f"v1.2 end{n}." for n in range(9))
    assert all(part.rstrip().endswith(".") and not part.startswith(" ") for part in contents(english))


def test_c6_a_line_without_any_end_is_cut_by_words_and_otherwise_anywhere():
    words = contents("word " * 300)
    assert all(part.startswith("word") for part in words)
    assert "".join(contents("字" * 1234)) == "字" * 1234


@pytest.mark.parametrize(
    "block",
    [
        "| a | b |\n|---|---|\n" + "\n".join(f"| row {n} | value |" for n in range(20)),
        "```python\n" + "\n\n".join(f"print({n})  # line" for n in range(18)) + "\n```",
        "1. step\n\n   ```\n" + "\n\n".join(f"   command {n}" for n in range(20)) + "\n   ```",
    ],
)
def test_c6_tables_and_fences_stay_whole_while_they_fit(block):
    before, after = "前" * 300 + "。", "后" * 300 + "。"
    assert block in contents(f"## 标题\n\n{before}\n\n{block}\n\n{after}")


def test_c6_a_table_that_does_not_fit_is_cut_between_rows():
    rows = [f"| row {n} | {'值' * 30} |" for n in range(40)]
    parts = contents("\n".join(["| a | b |", "|---|---|", *rows]))
    assert [line for part in parts for line in part.split("\n")] == ["| a | b |", "|---|---|", *rows]
    assert parts[0].split("\n")[:3] == ["| a | b |", "|---|---|", rows[0]]


def test_c6_a_list_that_does_not_fit_is_cut_between_items():
    items = [f"- 第{n}项：{'值' * 60}\n  - 细节{n}" for n in range(12)]
    parts = contents("说明：\n\n" + "\n".join(items))
    assert all(part.startswith(("- 第", "说明")) for part in parts)
    assert all(any(item in part for part in parts) for item in items)


def test_c7_a_chunk_knows_its_lines_in_the_file():
    assert [chunk.lines for chunk in chunks("\nintro\n\n# A\n\nfirst\nsecond\n\n\n## B\ntext\n")] == [
        (6, 6),
        (8, 11),
        (14, 15),
    ]


def test_c7_the_overlap_is_embedded_only():
    body = "\n\n".join(f"{n}" * 150 for n in range(9))
    plain, overlapped = chunks(body), chunks(body, overlap_characters=50)
    assert [(each.content, each.lines) for each in plain] == [(each.content, each.lines) for each in overlapped]
    before, after = overlapped[0], overlapped[1]
    assert after.embedded_text == f"手册\n{before.content[-48:]}\n{after.content}"
    assert before.embedded_text == plain[0].embedded_text


def test_c7_the_overlap_ends_where_the_chunk_before_began():
    body = "\n\n".join(f"{n}" * 60 for n in range(9))
    before, after = chunks(body, max_characters=100, overlap_characters=99)[3:5]
    assert after.embedded_text == f"手册\n{before.content}\n{after.content}"


@pytest.mark.parametrize("options", [{"max_characters": 19}, {"overlap_characters": -1}, {"overlap_characters": 500}])
def test_options_out_of_range_are_refused_by_their_name(options):
    with pytest.raises(UserError, match=r"chunking\.(max|overlap)-characters is"):
        ChunkingOptions(**options)
