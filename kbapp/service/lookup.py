"""One lookup from top to bottom: match (L0) → search (L1) → grade → answer → telemetry row (design §4)."""

from __future__ import annotations

import logging
import secrets
import time
from dataclasses import dataclass

from kbapp.domain import messages
from kbapp.domain.documents import JsonValue, domain_of
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.invocation import TOOL_NAME, Invocation, outcome_of
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.ports import DocumentFiles, KeywordIndex
from kbapp.domain.query import clean_query, clean_text
from kbapp.domain.relevance import HINTS, HintLanguage
from kbapp.service.answering import Answer, Answerer
from kbapp.service.clock import now
from kbapp.service.findings import Findings, KeywordOutcome
from kbapp.service.lookup_details import Grading, retrieval_details
from kbapp.service.lookup_log import log_answer, log_confidence, log_keyword_matches, log_search
from kbapp.service.vector_search import SearchOutcome, VectorSearch

logger = logging.getLogger("kbapp.lookup")


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """What the lookup is set to."""

    max_query_characters: int
    min_coverage: float
    language: HintLanguage


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """What the executor asks."""

    query: str
    session_id: str | None = None
    section_title: str | None = None
    missing_dimension: str | None = None
    force: bool = False


class Lookup:
    """The tool ``lookup_knowledge``. Thread-safe; keeps nothing between calls."""

    def __init__(
        self, *, keywords: KeywordIndex, files: DocumentFiles, search: VectorSearch, options: LookupOptions
    ) -> None:
        self._keywords = keywords
        self._search = search
        self._options = options
        self._answerer = Answerer(files, options.language)

    def run(self, request: LookupRequest) -> tuple[LookupResult, Invocation]:
        """Answer one query; the invocation holds everything that the result hides.

        Raises:
            UserError: the query is empty or too long.
        """
        started = time.perf_counter()
        query = clean_query(request.query, self._options.max_query_characters)
        findings = self._find(query)
        answer = self._answerer.answer(findings, clean_text(request.section_title or ""))
        result = self._result(findings, answer)
        log_answer(logger, result, findings.results)
        details = retrieval_details(findings, answer, result, self._grading)
        return result, self._invocation(request, findings, result, details, started)

    def _find(self, query: str) -> Findings:
        keywords = self._match(query)
        confident = len(keywords.matches) == 1 and keywords.matches[0].coverage >= self._options.min_coverage
        log_confidence(logger, keywords.matches, confident=confident)
        search, problem = (None, None) if confident else self._search_vectors(query)
        return Findings(query, keywords, confident, search, problem)

    def _match(self, query: str) -> KeywordOutcome:
        start = time.perf_counter()
        matches: tuple[KeywordMatch, ...] = ()
        problem = None
        try:
            matches = tuple(self._keywords.match(query))
        except IndexUnavailable as error:
            logger.error("[L0 精确匹配] 失败: %s", error)
            problem = str(error)
        milliseconds = (time.perf_counter() - start) * 1000
        log_keyword_matches(logger, len(matches), milliseconds)
        return KeywordOutcome(matches, milliseconds, problem)

    def _search_vectors(self, query: str) -> tuple[SearchOutcome | None, str | None]:
        try:
            outcome = self._search.search(query)
        except IndexUnavailable as error:
            logger.warning("[L1 语义检索] 失败: %s", error)
            return None, str(error)
        log_search(logger, outcome)
        return outcome, None

    def _result(self, findings: Findings, answer: Answer) -> LookupResult:
        level = answer.level
        return LookupResult(
            found=answer.found,
            primary=answer.primary,
            supplement=answer.supplement,
            relevance_level=level,
            completeness_hint=HINTS[self._options.language][level] if level else None,
            retrieved_domains=tuple(dict.fromkeys(domain_of(path) for path in answer.given)),
            message=answer.message,
            dedup_reason=None,
            degraded=self._degradation(findings, answer),
            invocation_id=secrets.token_hex(8),
        )

    def _degradation(self, findings: Findings, answer: Answer) -> str | None:
        """One sentence that says what is missing, the worst first (Q7)."""
        if findings.search_problem:
            return self._sentence(messages.L1_UNAVAILABLE, findings.search_problem)
        if findings.keywords.problem:
            return self._sentence(messages.L0_UNAVAILABLE, findings.keywords.problem)
        if answer.problem:
            return answer.problem
        if findings.search and findings.search.full_text_problem:
            return self._sentence(messages.FULL_TEXT_UNAVAILABLE, findings.search.full_text_problem)
        return None

    def _sentence(self, key: str, reason: str) -> str:
        return messages.message(key, self._options.language, reason=reason)

    @property
    def _grading(self) -> Grading:
        return Grading(self._search.profile, self._search.options.thresholds, self._options.min_coverage)

    def _invocation(
        self,
        request: LookupRequest,
        findings: Findings,
        result: LookupResult,
        details: dict[str, JsonValue],
        started: float,
    ) -> Invocation:
        search = findings.search
        return Invocation(
            id=result.invocation_id,
            session_id=request.session_id,
            tool_name=TOOL_NAME,
            query=findings.query,
            section_title=clean_text(request.section_title or "") or None,
            missing_dimension=clean_text(request.missing_dimension or "") or None,
            created_at=now(),
            duration_ms=round((time.perf_counter() - started) * 1000, 3),
            l0_ms=round(findings.keywords.milliseconds, 3),
            embed_ms=round(search.embed_ms, 3) if search else None,
            l1_ms=round(search.search_ms, 3) if search else None,
            l0_match_count=len(findings.keywords.matches),
            l1_called=not findings.confident,
            found=result.found,
            outcome=outcome_of(error=None, degraded=result.degraded, level=result.relevance_level, found=result.found),
            relevance_level=result.relevance_level,
            dedup_reason=result.dedup_reason,
            retrieval_details=details,
            error=None,
        )
