"""The log lines of a lookup, to the letter in their fixed parts (Q8); decisions at DEBUG."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import LookupResult
from kbapp.service.vector_search import SearchOutcome

_FRAGMENT_CHARACTERS = 60


def log_keyword_matches(logger: logging.Logger, count: int, milliseconds: float) -> None:
    """How many entries L0 matched."""
    logger.debug("[L0 精确匹配] 完成: matches=%d, time=%.0fms", count, milliseconds)


def log_confidence(logger: logging.Logger, matches: Sequence[KeywordMatch], *, confident: bool) -> None:
    """Whether L0 alone answers."""
    if confident:
        logger.debug("[置信度判断] highConfidence=true, reason=唯一匹配")
        logger.debug("[L1 语义检索] L0唯一匹配，跳过L1检索")
        return
    reason = "多个或零个匹配"
    if len(matches) == 1:
        reason = "唯一匹配但覆盖率不足" if matches[0].tier.is_literal else "唯一匹配但只凭同义词或近似拼写"
    logger.debug("[置信度判断] highConfidence=false, reason=%s", reason)
    logger.debug("[L1 语义检索] L0非唯一匹配，触发L1语义检索...")


def log_search(logger: logging.Logger, outcome: SearchOutcome) -> None:
    """How many results L1 gave."""
    milliseconds = (outcome.embed_ms or 0.0) + outcome.search_ms
    logger.debug("[L1 语义检索] 完成: matches=%d, time=%.0fms", len(outcome.results), milliseconds)


def log_answer(logger: logging.Logger, result: LookupResult, similarity: float | None) -> None:
    """What is given; ``similarity`` is that of the L1 candidate it comes from."""
    if not logger.isEnabledFor(logging.DEBUG):
        return
    logger.debug("----------------------------------------")
    logger.debug("<<< [工具返回] lookup_knowledge")
    if result.primary:
        content = result.primary.content
        lines = content.split("\n")
        summary = next((line.removeprefix("摘要: ") for line in lines if line.startswith("摘要: ")), "")
        logger.debug("<<< [L0 主结果] 标题: %s", result.primary.title)
        logger.debug("<<< [L0 主结果] 摘要: %s", summary)
        listed = lines[: lines.index("---")] if "---" in lines else []
        sections = sum(line.startswith("- ") for line in listed)
        logger.debug("<<< [L0 主结果] 内容: %d 字符, %d 个章节", len(content), sections)
    if result.supplement and similarity is not None:
        logger.debug("<<< [L1 补充] 相似度: %.4f", similarity)
        fragment = " ".join(result.supplement.content.split())
        cut = "..." if len(fragment) > _FRAGMENT_CHARACTERS else ""
        logger.debug("<<< [L1 补充] 内容片段: %s%s", fragment[:_FRAGMENT_CHARACTERS], cut)
