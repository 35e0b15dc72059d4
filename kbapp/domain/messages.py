"""Sentences for the executor (Q3, Q6, Q7): they name nothing that the session was not given (Q10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbapp.domain.relevance import HintLanguage

NOT_FOUND = "not_found"
CANNOT_TELL = "cannot_tell"
NO_SUCH_SECTION = "no_such_section"
AMBIGUOUS_MATCH = "ambiguous_match"
L0_UNAVAILABLE = "l0_unavailable"
L1_UNAVAILABLE = "l1_unavailable"
VECTORS_UNAVAILABLE = "vectors_unavailable"
WARM_RESULTS = "warm_results"
TOO_MANY_LOOKUPS = "too_many_lookups"
FULL_TEXT_UNAVAILABLE = "full_text_unavailable"
FILE_UNREADABLE = "file_unreadable"
STOP_SEARCHING = "stop_searching"
STILL_INDEXING = "still_indexing"
DOCUMENT_GIVEN = "document_given"
DOMAIN_GIVEN = "domain_given"
REPEATED_AGAIN = "repeated_again"
REPEATS_LEFT_OUT = "repeats_left_out"

_TEXTS: Mapping[str, Mapping[HintLanguage, str]] = {
    NOT_FOUND: {
        HintLanguage.ZH: "知识库中没有与该问题相关的内容",
        HintLanguage.EN: "The knowledge base holds nothing relevant to this question",
    },
    CANNOT_TELL: {
        HintLanguage.ZH: "检索不完整，无法判断知识库中是否有相关内容：请稍后再试，或先依据已有信息回答",
        HintLanguage.EN: (
            "The search was incomplete, so nobody can tell whether the knowledge base holds something on this:"
            " try again later, or answer with what you have"
        ),
    },
    NO_SUCH_SECTION: {
        HintLanguage.ZH: "该文档没有名为“{section}”的章节；可用章节见 availableSections：{sections}",
        HintLanguage.EN: "The document has no section “{section}”; its sections (availableSections): {sections}",
    },
    AMBIGUOUS_MATCH: {
        HintLanguage.ZH: "关键词命中 {count} 份文档，primary 仅为其中最匹配一份的概要，正文片段见 supplement",
        HintLanguage.EN: (
            "The keywords match {count} documents: primary is a summary of the best one, supplement holds body text"
        ),
    },
    L0_UNAVAILABLE: {
        HintLanguage.ZH: "关键词检索暂不可用，结果仅来自语义检索：{reason}",
        HintLanguage.EN: "Keyword search is unavailable; the result comes from semantic search alone: {reason}",
    },
    L1_UNAVAILABLE: {
        HintLanguage.ZH: "语义检索暂不可用，结果仅来自关键词检索：{reason}",
        HintLanguage.EN: "Semantic search is unavailable; the result comes from keyword search alone: {reason}",
    },
    VECTORS_UNAVAILABLE: {
        HintLanguage.ZH: "语义检索暂不可用，结果仅来自关键词和全文检索：{reason}",
        HintLanguage.EN: (
            "Semantic search is unavailable; the result comes from keyword and full-text search alone: {reason}"
        ),
    },
    WARM_RESULTS: {
        HintLanguage.ZH: "检索暂不可用，以下是 {time} UTC 的检索结果，相关文档此后没有变化：{reason}",
        HintLanguage.EN: (
            "Search is unavailable; this was found at {time} UTC, in documents that have not changed since: {reason}"
        ),
    },
    TOO_MANY_LOOKUPS: {
        HintLanguage.ZH: "正在处理的检索过多（{count} 个），等待 {seconds} 秒后仍未轮到：请稍后重试",
        HintLanguage.EN: "{count} lookups are under way, and none ended within {seconds} s: ask again in a moment",
    },
    FULL_TEXT_UNAVAILABLE: {
        HintLanguage.ZH: "全文检索暂不可用：{reason}",
        HintLanguage.EN: "Full-text search is unavailable: {reason}",
    },
    FILE_UNREADABLE: {
        HintLanguage.ZH: "命中文档的正文暂时无法读取，仅返回概要：{reason}",
        HintLanguage.EN: "The text of the matching document cannot be read now, only its summary is given: {reason}",
    },
    STILL_INDEXING: {
        HintLanguage.ZH: "还有 {count} 份文档尚未建立索引，语义检索的结果可能不完整",
        HintLanguage.EN: "{count} documents are not indexed yet; semantic search may be incomplete",
    },
    STOP_SEARCHING: {
        HintLanguage.ZH: "已连续 {count} 次没有命中：请停止检索，依据已有信息回答，并说明缺少的部分",
        HintLanguage.EN: "{count} searches in a row found nothing: stop searching, answer with what you have",
    },
    DOCUMENT_GIVEN: {
        HintLanguage.ZH: (
            "该内容已在本会话提供过（{time} 的查询“{query}”，来源 {source}），请直接使用；"
            "要更深入，请{section_way}用 missing_dimension 指明缺少的维度"
        ),
        HintLanguage.EN: (
            "This was given in this session (query “{query}” at {time}, source {source}): use it. To go deeper, name"
            "{section_way} the missing dimension with missing_dimension"
        ),
    },
    DOMAIN_GIVEN: {
        HintLanguage.ZH: (
            "本会话已就此从同一领域取得高度相关的内容（{time} 的查询“{query}”，来源 {source}），请直接使用；"
            "确实缺少某个维度时，请{section_way}用 missing_dimension 指明"
        ),
        HintLanguage.EN: (
            "This session already has highly relevant content of this domain on it (query “{query}” at {time},"
            " source {source}): use it. If a dimension is really missing, name{section_way} it with missing_dimension"
        ),
    },
    REPEATED_AGAIN: {
        HintLanguage.ZH: (
            "这是对同一查询的第 {count} 次重复，不会再返回内容：请停止检索，用 {time} 已提供的内容（来源 {source}）作答"
        ),
        HintLanguage.EN: (
            "Repeat number {count} of the same query; nothing more will be returned:"
            " stop searching and answer with what was given at {time} (source {source})"
        ),
    },
    REPEATS_LEFT_OUT: {
        HintLanguage.ZH: "“…”处的文字已在本会话提供过",
        HintLanguage.EN: "Where “…” stands, the text was given in this session before",
    },
}


_SECTION_WAY: Mapping[HintLanguage, str] = {
    HintLanguage.ZH: "用 section_title 指定其中一节：{sections}；或",
    HintLanguage.EN: " one of its sections with section_title: {sections}; or",
}
LISTED = 12


def section_way(sections: Sequence[str], language: HintLanguage) -> str:
    """How to go on by a section, inside the sentences that withhold; empty where the document has none."""
    return _SECTION_WAY[language].format(sections=listed(sections)) if sections else ""


def listed(names: Sequence[str]) -> str:
    """Names inside a sentence: the first twelve."""
    shown = " / ".join(names[:LISTED]) or "–"
    return f"{shown} / …" if len(names) > LISTED else shown


def message(key: str, language: HintLanguage, **values: object) -> str:
    """One sentence of the catalogue, filled in."""
    return _TEXTS[key][language].format(**values)
