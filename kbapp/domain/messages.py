"""Sentences for the executor (Q3, Q6, Q7): they name nothing that the session was not given (Q10)."""

from __future__ import annotations

from collections.abc import Mapping

from kbapp.domain.relevance import HintLanguage

NOT_FOUND = "not_found"
NO_SUCH_SECTION = "no_such_section"
AMBIGUOUS_MATCH = "ambiguous_match"
L0_UNAVAILABLE = "l0_unavailable"
L1_UNAVAILABLE = "l1_unavailable"
FULL_TEXT_UNAVAILABLE = "full_text_unavailable"
FILE_UNREADABLE = "file_unreadable"

_TEXTS: Mapping[str, Mapping[HintLanguage, str]] = {
    NOT_FOUND: {
        HintLanguage.ZH: "知识库中没有与该问题相关的内容",
        HintLanguage.EN: "The knowledge base holds nothing relevant to this question",
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
    FULL_TEXT_UNAVAILABLE: {
        HintLanguage.ZH: "全文检索暂不可用：{reason}",
        HintLanguage.EN: "Full-text search is unavailable: {reason}",
    },
    FILE_UNREADABLE: {
        HintLanguage.ZH: "命中文档的正文暂时无法读取，仅返回概要：{reason}",
        HintLanguage.EN: "The text of the matching document cannot be read now, only its summary is given: {reason}",
    },
}


def message(key: str, language: HintLanguage, **values: object) -> str:
    """One sentence of the catalogue, filled in."""
    return _TEXTS[key][language].format(**values)
