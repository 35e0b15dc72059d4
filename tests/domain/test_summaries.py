import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.domain.documents import Document, Frontmatter, KnowledgeEntry, TitleSource
from kbapp.domain.summaries import available_sections, compact_summary, metadata_summary

BODY = """# 支付网关错误码定义

## 超时类错误

### ERR_TIMEOUT

**含义**：支付网关请求超时

```
# 重试
```

## 业务类错误

余额不足

签名类错误
---
见附录 ＥＲＲ＿SIGN
"""

ENTRY = KnowledgeEntry(
    "api/payment-errors.md",
    "支付网关错误码定义",
    ("ERR_TIMEOUT", "超时", "支付网关"),
    "记录了支付网关所有核心错误码的含义及排查方向",
)


def document(body: str = BODY, title: str = ENTRY.title) -> Document:
    frontmatter = Frontmatter(title, ENTRY.keywords, ENTRY.summary, {})
    return Document(ENTRY.path, title, TitleSource.FRONTMATTER, frontmatter, body, 6, 0, "", None)


def fragment(summary: str) -> str:
    return summary.partition("\n---\n")[2]


def test_q4_the_compact_summary_has_title_summary_sections_and_text_without_headings_and_blank_lines():
    assert compact_summary(ENTRY, document(), "支付网关") == (
        "文档: 支付网关错误码定义\n"
        "摘要: 记录了支付网关所有核心错误码的含义及排查方向\n"
        "章节:\n"
        "- 超时类错误\n"
        "- 业务类错误\n"
        "- 签名类错误\n"
        "---\n"
        "**含义**：支付网关请求超时\n"
        "```\n"
        "# 重试\n"
        "```\n"
        "余额不足\n"
        "见附录 ＥＲＲ＿SIGN"
    )


def test_q4_a_line_without_a_value_is_left_out():
    entry = KnowledgeEntry("a.md", "标题", ("k",), None)
    assert compact_summary(entry, document("正文"), None) == "文档: 标题\n---\n正文"
    assert compact_summary(entry, document("# 一\n\n"), None) == "文档: 标题"
    assert metadata_summary(KnowledgeEntry("a.md", "标题", (), None)) == "文档: 标题\n来源: a.md"


@pytest.mark.parametrize(
    ("keyword", "beginning"),
    [
        ("余额不足", "余额不足"),
        ("业务类错误", "余额不足"),
        ("err_timeout", "**含义**"),
        ("err_sign", "见附录"),
        ("不在正文", "**含义**"),
        ("", "**含义**"),
        (None, "**含义**"),
    ],
)
def test_q4_the_text_starts_at_the_section_that_holds_the_matched_keyword_else_at_the_top(keyword, beginning):
    assert fragment(compact_summary(ENTRY, document(), keyword)).startswith(beginning)


@pytest.mark.parametrize(("length", "limit"), [(2000, 800), (2001, 500)])
def test_q4_the_text_is_cut_at_800_characters_of_a_short_document_and_500_of_a_long_one(length, limit):
    assert fragment(compact_summary(ENTRY, document("字" * length), None)) == "字" * limit


def test_q4_a_text_of_just_the_limit_is_whole_and_lines_are_counted_with_their_ends():
    lines = ["字" * 99] * 7 + ["字" * 100]
    assert fragment(compact_summary(ENTRY, document("\n\n".join(lines)), None)) == "\n".join(lines)
    assert fragment(compact_summary(ENTRY, document("\n".join([*lines, "x"])), None)) == "\n".join(lines)


def test_q4_a_cut_never_tears_what_is_seen_as_one_character():
    text = fragment(compact_summary(ENTRY, document("👨‍👩‍👧‍👦" * 280), None))
    assert text == "👨‍👩‍👧‍👦" * (800 // 7)


def test_q4_the_section_list_has_200_characters_and_then_the_number_of_sections():
    body = "\n\n".join(f"## 第{number:02}节的标题有十二个字\n\n文" for number in range(40))
    listed = compact_summary(ENTRY, document(body), None).partition("章节:\n")[2].partition("\n---\n")[0].split("\n")
    assert listed[-1] == "- …(共 40 节)"
    assert listed[:2] == ["- 第00节的标题有十二个字", "- 第01节的标题有十二个字"]
    longer = [*listed[:-1], "- 第00节的标题有十二个字"]
    assert len("\n".join(listed[:-1])) <= 200 < len("\n".join(longer))


@pytest.mark.parametrize(("last", "count"), [(64, 3), (65, 2)])
def test_q4_a_section_list_of_just_200_characters_is_whole(last, count):
    body = "\n\n".join(f"## {'节' * length}" for length in (64, 64, last))
    listed = compact_summary(ENTRY, document(body), None).partition("章节:\n")[2].split("\n")
    assert len([line for line in listed if "…" not in line]) == count


def test_q4_only_h2_headings_are_listed():
    summary = compact_summary(ENTRY, document("# 一\n\n### 三\n\n<h2>二</h2>\n\n```\n## no\n```"), None)
    assert "章节:\n- 二\n---" in summary


def test_q4_long_titles_and_summaries_are_cut_and_stay_on_one_line():
    entry = KnowledgeEntry("a.md", "题" * 500, (), "行一\n\n行二" + "要" * 500)
    title, summary, rule, text = compact_summary(entry, document("正文"), None).split("\n")
    assert (title[-2:], summary[:10], summary[-2:], rule, text) == ("题…", "摘要: 行一 行二要", "要…", "---", "正文")


texts = st.text(st.sampled_from("甲a \n。-#`👨‍👩<"), max_size=30).map(lambda text: text * 60) | st.text(max_size=20)


@settings(deadline=None)
@given(texts, st.none() | texts, st.lists(texts, max_size=3), texts, st.none() | texts)
def test_q4_the_compact_summary_never_has_more_than_1000_characters(title, summary, headings, text, keyword):
    entry = KnowledgeEntry("a.md", title, (), summary)
    body = "\n\n".join(f"## {heading}\n\n{text}" for heading in headings) * 10 + text
    assert len(compact_summary(entry, document(body), keyword)) <= 1000


def test_q4_the_metadata_only_summary_has_title_summary_keywords_and_source():
    assert metadata_summary(ENTRY) == (
        "文档: 支付网关错误码定义\n"
        "摘要: 记录了支付网关所有核心错误码的含义及排查方向\n"
        "关键词: ERR_TIMEOUT, 超时, 支付网关\n"
        "来源: api/payment-errors.md"
    )


@settings(deadline=None)
@given(texts, st.none() | texts, st.lists(texts, max_size=30))
def test_q4_the_metadata_only_summary_has_at_most_200_characters_and_names_the_whole_source(title, summary, keywords):
    text = metadata_summary(KnowledgeEntry("api/payment-errors.md", title, tuple(keywords), summary))
    assert len(text) <= 200
    assert text.endswith("来源: api/payment-errors.md")


def test_q4_a_long_summary_of_the_metadata_is_cut_before_the_keywords():
    entry = KnowledgeEntry("api/a.md", "标题", ("超时", "限流"), "要" * 500)
    text = metadata_summary(entry)
    assert len(text) == 200
    assert text.endswith("要…\n关键词: 超时, 限流\n来源: api/a.md")


def test_q6_the_available_sections_are_all_headings_once_without_the_title_of_the_document():
    body = "# 支付网关错误码定义\n\n## 配置\n\n### 示例\n\n## 运维\n\n### 示例\n\n# 附录\n"
    assert available_sections(document(body)) == ("配置", "示例", "运维", "附录")
    assert available_sections(document("正文")) == ()
    assert available_sections(document("## 支付网关错误码定义\n")) == ("支付网关错误码定义",)
