"""A telemetry row into sentences for a person, and into the level that follows from it (T7): from the row alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import CandidateEvidence, HintLanguage, RelevanceLevel, Thresholds
from kbapp.domain.row_evidence import GradedCandidate, KeywordEvidence, RowEvidence, row_evidence

_DIGITS = 4

_EN, _ZH = HintLanguage.EN, HintLanguage.ZH
_SENTENCES: dict[str, dict[HintLanguage, str]] = {
    "incomplete": {
        _EN: "Not everything could be searched: {degraded}",
        _ZH: "检索不完整：{degraded}",
    },
    "cleared": {
        _EN: "The session was cleared: what was given before does not count any more.",
        _ZH: "会话已清空：此前提供过的内容不再计入。",
    },
    "refused": {_EN: "Refused: {error}.", _ZH: "请求被拒绝：{error}。"},
    "unknown": {_EN: "The row does not say how the level came about.", _ZH: "该记录没有保存定级依据。"},
    "level": {_EN: "{level}: {reason}.", _ZH: "{level}：{reason}。"},
    "nothing": {_EN: "Not found", _ZH: "未命中"},
    "otherwise": {
        _EN: "{level}, although {recomputed} follows: {reason}.",
        _ZH: "{level}，但按依据应为 {recomputed}：{reason}。",
    },
    "deduped": {
        _EN: "DEDUPED: {why}; without that it is {level}, since {reason}.",
        _ZH: "DEDUPED：{why}；若非重复则为 {level}，因为{reason}。",
    },
    DedupReason.DOC_RETRIEVED: {
        _EN: "the session had already been given this document",
        _ZH: "本会话已提供过该文档",
    },
    DedupReason.DOMAIN_RETRIEVED: {
        _EN: "the session had already been given this domain, and the query asks for it again",
        _ZH: "本会话已从该领域取得高度相关的内容，而查询又在问同样的事",
    },
    "unreadable": {
        _EN: "something was found, but no document of it could be read",
        _ZH: "有命中，但对应的文档都无法读取",
    },
    "unique": {
        _EN: "exactly one document matches by keyword, and covers {share} of the query; vectors were not searched",
        _ZH: "关键词只命中一份文档，覆盖查询的 {share}；未做向量检索",
    },
    "both": {_EN: "{keywords}, and {chunks}", _ZH: "{keywords}，且{chunks}"},
    "no keyword": {_EN: "no keyword matches", _ZH: "没有关键词命中"},
    "keywords": {_EN: "{count} documents match by keyword", _ZH: "关键词命中 {count} 份文档"},
    "guess": {
        _EN: "the only match by keyword is by a synonym or a mistyped word",
        _ZH: "唯一的关键词命中只凭同义词或近似拼写",
    },
    "low coverage": {
        _EN: "the only match by keyword covers {share} of the query, less than {bound}",
        _ZH: "唯一的关键词命中只覆盖查询的 {share}，低于 {bound}",
    },
    "best chunk": {
        _EN: "the best chunk has similarity {similarity}",
        _ZH: "最佳片段相似度为 {similarity}",
    },
    "section chunk": {
        _EN: "the chunk of the document with the section has similarity {similarity}",
        _ZH: "含该章节的文档，其片段相似度为 {similarity}",
    },
    "not searched": {_EN: "vectors could not be searched", _ZH: "向量检索不可用"},
    "no chunk": {_EN: "no chunk was found", _ZH: "没有找到任何片段"},
    "low chunks": {
        _EN: "no chunk reaches {bound} (the best has {similarity})",
        _ZH: "没有片段达到 {bound}（最高 {similarity}）",
    },
    "at least": {_EN: "{similarity}, at least {bound}", _ZH: "{similarity}，不低于 {bound}"},
    "between": {
        _EN: "{similarity}, at least {bound} and less than {upper}",
        _ZH: "{similarity}，不低于 {bound} 且低于 {upper}",
    },
    "below": {_EN: "{similarity}, less than {bound}", _ZH: "{similarity}，低于 {bound}"},
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an invocation came out as it did: the decision, and a sentence for each thing that it rests on."""

    decision: str
    keywords: tuple[str, ...]
    candidates: tuple[str, ...]
    recomputed_level: RelevanceLevel | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it, the decision first."""
        return (self.decision, *self.keywords, *self.candidates)


def recompute_level(details: dict[str, JsonValue]) -> RelevanceLevel | None:
    """The level before anything is withheld, from the evidence in ``retrieval_details`` (G2); None: nothing found.

    None as well when the row holds no evidence: it is of an older version, of another tool, or the call was refused.
    """
    evidence = row_evidence(details)
    return evidence.level if evidence else None


def explain(invocation: Invocation, language: HintLanguage = HintLanguage.EN) -> Explanation:
    """The decision in that language and the evidence in English; from the row alone, whatever is indexed by now."""
    evidence = row_evidence(invocation.retrieval_details)
    if evidence is None:
        return Explanation(_without_evidence(invocation, language), (), (), None)
    level = evidence.level
    return Explanation(
        decision=_Decision(invocation, evidence, language).sentence(level),
        keywords=tuple(_keyword_sentence(match) for match in evidence.matches),
        candidates=tuple(_candidate_sentences(evidence)),
        recomputed_level=level,
    )


def _say(key: str, language: HintLanguage, **values: object) -> str:
    return _SENTENCES[key][language].format(**values)


def _without_evidence(invocation: Invocation, language: HintLanguage) -> str:
    if invocation.tool_name == CLEAR_TOOL_NAME:
        return _say("cleared", language)
    if invocation.error:
        return _say("refused", language, error=invocation.error)
    return _say("unknown", language)


@dataclass(frozen=True, slots=True)
class _Decision:
    """Words the decision of one row in one language."""

    invocation: Invocation
    evidence: RowEvidence
    language: HintLanguage

    def sentence(self, level: RelevanceLevel | None) -> str:
        """The decision, and what could not be searched; ``level`` is the one that follows from the evidence."""
        result = self.invocation.retrieval_details.get("result")
        degraded = result.get("degraded") if isinstance(result, dict) else None
        decision = self._decision(level)
        return f"{decision} {self._say('incomplete', degraded=degraded)}" if degraded else decision

    def _decision(self, level: RelevanceLevel | None) -> str:
        reason = self._reason(level)
        given = self.invocation.relevance_level
        nothing = self._say("nothing")
        if given is RelevanceLevel.DEDUPED:
            why = self._say(self.invocation.dedup_reason or DedupReason.DOC_RETRIEVED)
            return self._say("deduped", why=why, level=level or nothing, reason=reason)
        if given is not level:
            return self._say("otherwise", level=given or nothing, recomputed=level or nothing, reason=reason)
        return self._say("level", level=level or nothing, reason=reason)

    def _say(self, key: str, **values: object) -> str:
        return _say(key, self.language, **values)

    def _reason(self, level: RelevanceLevel | None) -> str:
        evidence = self.evidence
        if evidence.nothing_readable:
            return self._say("unreadable")
        if level is RelevanceLevel.PRECISE:
            return self._say("unique", share=_shown(evidence.matches[0].coverage, evidence.min_coverage))
        if evidence.decisive is not None:
            return self._decisive_chunk(evidence.decisive)
        return self._say("both", keywords=self._keywords(), chunks=self._no_chunk())

    def _keywords(self) -> str:
        matches = self.evidence.matches
        if not matches:
            return self._say("no keyword")
        if len(matches) > 1:
            return self._say("keywords", count=len(matches))
        if matches[0].is_guess:
            return self._say("guess")
        bound = self.evidence.min_coverage
        return self._say("low coverage", share=_shown(matches[0].coverage, bound), bound=bound)

    def _decisive_chunk(self, decisive: GradedCandidate) -> str:
        key = "best chunk" if self.evidence.section_candidate is None else "section chunk"
        return self._say(key, similarity=_against_thresholds(decisive, self.evidence.thresholds, self.language))

    def _no_chunk(self) -> str:
        if self.invocation.l1_called and self.invocation.l1_ms is None:
            return self._say("not searched")
        if not self.evidence.candidates:
            return self._say("no chunk")
        thresholds = self.evidence.thresholds
        best = max(candidate.similarity for candidate in self.evidence.candidates)
        return self._say("low chunks", bound=thresholds.reference, similarity=_similarity(best, thresholds))


def _against_thresholds(candidate: GradedCandidate, thresholds: Thresholds, language: HintLanguage) -> str:
    shown = _similarity(candidate.similarity, thresholds)
    if candidate.similarity >= thresholds.highly_relevant:
        return _say("at least", language, similarity=shown, bound=thresholds.highly_relevant)
    if candidate.similarity >= thresholds.reference:
        upper = thresholds.highly_relevant
        return _say("between", language, similarity=shown, bound=thresholds.reference, upper=upper)
    return _say("below", language, similarity=shown, bound=thresholds.reference)


def _keyword_sentence(match: KeywordEvidence) -> str:
    return f"L0 {match.document}: {match.reason} It covers {round(match.coverage, _DIGITS)} of the query."


def _candidate_sentences(evidence: RowEvidence) -> Iterator[str]:
    for candidate in evidence.candidates:
        found = candidate.evidence
        ranks = [f"{rank} by {leg}" for leg, rank in candidate.ranks if rank is not None]
        yield (
            f"L1 {candidate.document} ({candidate.breadcrumb}):"
            f" similarity {_against_thresholds(candidate, evidence.thresholds, HintLanguage.EN)};"
            f" {_vector_words(found)},"
            f" words found {found.found_terms} ({found.coverage:.0%} by weight),"
            f" unknown names {found.unknown_share:.0%}; rank {' and '.join(ranks) or '–'}"
            f"{', its document is the first of both' if found.leads_both else ''}."
        )


def _vector_words(found: CandidateEvidence) -> str:
    if found.distance is None or found.cosine is None:
        return "no vector could be compared"
    return f"distance {round(found.distance, _DIGITS)}, cosine {round(found.cosine, _DIGITS)}"


def _similarity(value: float, thresholds: Thresholds) -> str:
    return _shown(value, thresholds.reference, thresholds.highly_relevant)


def _shown(value: float, *bounds: float) -> str:
    """Four digits, rounded down where rounding up would show a value as if it reached a bound."""
    rounded = round(value, _DIGITS)
    if any(value < bound <= rounded for bound in bounds):
        rounded = math.floor(value * 10**_DIGITS) / 10**_DIGITS
    return str(rounded)
