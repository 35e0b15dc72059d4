"""One lookup from top to bottom: match (L0) → search (L1) → grade → answer → telemetry row (design §4)."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from kbapp.domain import messages
from kbapp.domain.action_memory import NO_MEMORY, DedupRequest, DomainPolicy, EarlierCall, SessionMemory
from kbapp.domain.documents import JsonValue, KnowledgeEntry
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.invocation import TOOL_NAME, Invocation, outcome_of
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.ports import DocumentFiles, KeywordIndex
from kbapp.domain.query import clean_query, clean_text
from kbapp.domain.relevance import HINTS, HintLanguage
from kbapp.service.answering import Answer
from kbapp.service.choosing import Choice, Chooser
from kbapp.service.clock import iso, now
from kbapp.service.findings import Findings, KeywordOutcome
from kbapp.service.gate import Gate
from kbapp.service.given import call_of, given_details
from kbapp.service.lookup_details import retrieval_details
from kbapp.service.lookup_log import log_answer, log_confidence, log_keyword_matches, log_search
from kbapp.service.ranking import Ranking, rank
from kbapp.service.vector_search import SearchOutcome, VectorSearch
from kbapp.service.warm_results import WarmResults

logger = logging.getLogger("kbapp.lookup")

ALTERNATIVES = 7  # candidates beyond top-k that are graded when the session was given something


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """What the lookup is set to."""

    max_query_characters: int
    min_coverage: float
    domain_policy: DomainPolicy
    language: HintLanguage


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """What the executor asks."""

    query: str
    session_id: str | None = None
    section_title: str | None = None
    missing_dimension: str | None = None
    force: bool = False
    domain_policy: DomainPolicy | None = None
    """In place of the one that is set; for people who compare them."""


@dataclass(frozen=True, slots=True)
class LookupOutcome:
    """The answer, the row that explains it, and what the session's memory keeps of it."""

    result: LookupResult
    invocation: Invocation
    call: EarlierCall


class Lookup:
    """The tool ``lookup_knowledge``. Thread-safe; keeps nothing between calls: the memory comes with each one."""

    def __init__(
        self,
        *,
        keywords: KeywordIndex,
        files: DocumentFiles,
        search: VectorSearch,
        options: LookupOptions,
        warm: WarmResults,
        gate: Gate,
        is_in_l0: Callable[[KnowledgeEntry, str], bool] = lambda _entry, _content_hash: True,
    ) -> None:
        """``is_in_l0``: whether L0 holds this entry now, and from the version of its document with this hash."""
        self._keywords = keywords
        self._is_in_l0 = is_in_l0
        self._search = search
        self._options = options
        self._warm = warm
        self._gate = gate
        self._chooser = Chooser(files, options.language)

    def run(self, request: LookupRequest, memory: SessionMemory = NO_MEMORY) -> LookupOutcome:
        """Answer one query of a session with this memory.

        Raises:
            UserError: the query is empty or too long.
        """
        started = time.perf_counter()
        asked = self._clean(request)
        with self._gate.entered() as is_inside:
            alternatives = ALTERNATIVES if memory.calls else 0
            findings = self._find(asked, memory, alternatives) if is_inside else self._refused(asked)
        return self._answered(request, asked, findings, memory, started)

    def refuse(self, request: LookupRequest) -> LookupOutcome:
        """Tell that too many others are under way.

        Raises:
            UserError: the query is empty or too long.
        """
        asked = self._clean(request)
        return self._answered(request, asked, self._refused(asked), NO_MEMORY, time.perf_counter())

    def _answered(
        self, request: LookupRequest, asked: DedupRequest, findings: Findings, memory: SessionMemory, started: float
    ) -> LookupOutcome:
        policy = request.domain_policy or self._options.domain_policy
        choice = self._chooser.choose(findings, asked, memory, policy)
        result = self._result(findings, choice, memory)
        log_answer(logger, result, choice.answer.similarity)
        grading = findings.search.grading if findings.search else self._search.grading.now()
        details = retrieval_details(findings, choice.found, result, grading, self._options.min_coverage)
        details |= given_details(choice.answer)
        details |= {
            "search_problem": findings.search_problem,
            "warm_since": findings.warm_since,
            "domain_policy": policy.value,
            "force": asked.force,
            "new_domains": [domain for domain in choice.answer.domains if domain not in memory.domains],
            "earlier_invocation": choice.earlier.invocation_id if choice.earlier else None,
        }
        invocation = self._invocation(request, asked, findings, result, details, started)
        return LookupOutcome(result, invocation, call_of(invocation, choice.answer))

    def ranking(self, query: str) -> Ranking:
        """Everything that ``run`` finds for a query of a fresh session; what it gives comes first.

        Raises:
            UserError: the query is empty or too long.
        """
        asked = self._clean(LookupRequest(query))
        everything = 2 * self._search.options.candidates  # that two legs of this depth can find
        findings = self._find(asked, NO_MEMORY, everything)
        search, problem = findings.search, findings.search_problem
        if findings.confident:
            search, problem = self._searched(asked.query, everything)
        return rank(self._chooser.answerer.answers(findings, ""), findings, search, problem)

    def considered(self, query: str) -> SearchOutcome:
        """What L1 considers for a query, whatever L0 says of it.

        Raises:
            UserError: the query is empty or too long.
            IndexUnavailable: vectors cannot be had now.
        """
        return self._search.search_vectors(clean_query(query, self._options.max_query_characters))

    def _clean(self, request: LookupRequest) -> DedupRequest:
        return DedupRequest(
            clean_query(request.query, self._options.max_query_characters),
            clean_text(request.section_title or ""),
            clean_text(request.missing_dimension or ""),
            request.force,
        )

    def _find(self, asked: DedupRequest, memory: SessionMemory, alternatives: int) -> Findings:
        findings = self._find_once(asked, memory, alternatives)
        if self._mixes_versions(findings):  # the document was indexed in between
            findings = self._find_once(asked, memory, alternatives)
        return findings

    def _refused(self, asked: DedupRequest) -> Findings:
        sentence = messages.message(
            messages.TOO_MANY_LOOKUPS,
            self._options.language,
            count=self._gate.limit,
            seconds=f"{self._gate.wait_seconds:g}",
        )
        logger.warning("%s", sentence)
        return Findings(asked.query, KeywordOutcome((), 0.0, None), False, False, None, sentence, is_refused=True)

    def _mixes_versions(self, findings: Findings) -> bool:
        """Whether L0 and L1 tell of the same document in different versions."""
        versions = {candidate.stored.path: candidate.stored.document_hash for candidate in findings.results}
        entries = [match.entry for match in findings.matches[:1] if match.entry.path in versions]
        return any(not self._is_in_l0(entry, versions[entry.path]) for entry in entries)

    def _find_once(self, asked: DedupRequest, memory: SessionMemory, alternatives: int) -> Findings:
        keywords = self._match(asked.query)
        unique = len(keywords.matches) == 1 and keywords.matches[0].is_sure(self._options.min_coverage)
        # A new dimension of a document that was given asks for more than its summary.
        is_new = memory.is_new_dimension(asked.query, asked.dimension)
        goes_deeper = unique and is_new and memory.has_given_document(keywords.matches[0].entry.path)
        confident = unique and not goes_deeper
        log_confidence(logger, keywords.matches, confident=confident)
        if confident:
            return Findings(asked.query, keywords, confident, goes_deeper, None, None)
        text = f"{asked.query} {asked.dimension}" if is_new else asked.query
        search, problem = self._searched(text, alternatives)
        warm = self._warm.result(text) if search is None else None
        covers_little = len(keywords.matches) == 1 and keywords.matches[0].coverage < self._options.min_coverage
        return Findings(
            asked.query,
            keywords,
            confident,
            goes_deeper,
            warm.outcome if warm else search,
            problem,
            covers_little,
            warm_since=iso(warm.found_at) if warm else None,
        )

    def warm_up(self) -> None:
        """Search once, for nothing.

        Raises:
            IndexUnavailable: vectors cannot be had now.
        """
        self._search.search_vectors("kbapp")

    @property
    def domain_policy(self) -> DomainPolicy:
        """As it is set."""
        return self._options.domain_policy

    def sections_of(self, path: str) -> tuple[str, ...]:
        """The sections of a document; none when it cannot be read."""
        return self._chooser.answerer.sections_of(path)

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

    def _searched(self, query: str, alternatives: int) -> tuple[SearchOutcome | None, str | None]:
        """What L1 finds, and what it could not ask for; both where the words alone were searched."""
        try:
            outcome = self._search.search(query, alternatives=alternatives)
        except IndexUnavailable as error:
            logger.warning("[L1 语义检索] 失败: %s", error)
            return None, str(error)
        log_search(logger, outcome)
        self._warm.keep(query, outcome)
        return outcome, outcome.vector_problem

    def _result(self, findings: Findings, choice: Choice, memory: SessionMemory) -> LookupResult:
        answer = choice.answer
        level = answer.level
        return LookupResult(
            found=level is not None,
            primary=answer.primary,
            supplement=answer.supplement,
            relevance_level=level,
            completeness_hint=HINTS[self._options.language][level] if level else None,
            retrieved_domains=tuple(dict.fromkeys([*memory.domains, *answer.domains])),
            message=answer.message,
            dedup_reason=choice.dedup_reason,
            degraded=self._degradation(findings, answer),
            invocation_id=secrets.token_hex(8),
        )

    def _degradation(self, findings: Findings, answer: Answer) -> str | None:
        """One sentence that says what is missing, the worst first (Q7)."""
        if findings.search_problem:
            return self._search_degradation(findings, findings.search_problem)
        if findings.keywords.problem:
            return self._sentence(messages.L0_UNAVAILABLE, findings.keywords.problem)
        if answer.problem:
            return answer.problem
        if findings.search and findings.search.pending:
            return messages.message(messages.STILL_INDEXING, self._options.language, count=findings.search.pending)
        if findings.search and findings.search.full_text_problem:
            return self._sentence(messages.FULL_TEXT_UNAVAILABLE, findings.search.full_text_problem)
        return None

    def _search_degradation(self, findings: Findings, problem: str) -> str:
        if findings.is_refused:
            return problem
        if findings.warm_since:
            time_of_day = findings.warm_since[11:16]
            return messages.message(messages.WARM_RESULTS, self._options.language, time=time_of_day, reason=problem)
        return self._sentence(messages.VECTORS_UNAVAILABLE if findings.search else messages.L1_UNAVAILABLE, problem)

    def _sentence(self, key: str, reason: str) -> str:
        return messages.message(key, self._options.language, reason=reason)

    def _invocation(
        self,
        request: LookupRequest,
        asked: DedupRequest,
        findings: Findings,
        result: LookupResult,
        details: dict[str, JsonValue],
        started: float,
    ) -> Invocation:
        search = findings.search if findings.warm_since is None else None  # the times of that one are of another call
        return Invocation(
            id=result.invocation_id,
            session_id=request.session_id,
            tool_name=TOOL_NAME,
            query=asked.query,
            section_title=asked.section or None,
            missing_dimension=asked.dimension or None,
            created_at=now(),
            duration_ms=round((time.perf_counter() - started) * 1000, 3),
            l0_ms=round(findings.keywords.milliseconds, 3),
            embed_ms=round(search.embed_ms, 3) if search and search.embed_ms is not None else None,
            l1_ms=round(search.search_ms, 3) if search else None,
            l0_match_count=len(findings.keywords.matches),
            l1_called=not (findings.confident or findings.is_refused),
            found=result.found,
            outcome=outcome_of(error=None, degraded=result.degraded, level=result.relevance_level, found=result.found),
            relevance_level=result.relevance_level,
            dedup_reason=result.dedup_reason,
            retrieval_details=details,
            error=None,
        )
