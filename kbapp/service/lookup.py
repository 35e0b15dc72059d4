"""One lookup from top to bottom: match (L0) → search (L1) → grade → answer → telemetry row (design §4)."""

from __future__ import annotations

import logging
import secrets
import time
from dataclasses import dataclass, replace

from kbapp.domain import messages
from kbapp.domain.action_memory import (
    NO_MEMORY,
    DedupRequest,
    DomainPolicy,
    EarlierCall,
    SessionMemory,
    Withhold,
    decide,
)
from kbapp.domain.documents import JsonValue, source_of
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.invocation import TOOL_NAME, Invocation, outcome_of
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import DedupReason, LookupResult
from kbapp.domain.ports import DocumentFiles, KeywordIndex
from kbapp.domain.query import clean_query, clean_text
from kbapp.domain.relevance import HINTS, HintLanguage, RelevanceLevel
from kbapp.domain.repeated_text import without_repeats
from kbapp.service.answering import Answer, Answerer
from kbapp.service.clock import now
from kbapp.service.findings import Findings, KeywordOutcome
from kbapp.service.given import call_of, given_details
from kbapp.service.lookup_details import Grading, retrieval_details
from kbapp.service.lookup_log import log_answer, log_confidence, log_keyword_matches, log_search
from kbapp.service.vector_search import SearchOutcome, VectorSearch

logger = logging.getLogger("kbapp.lookup")

ALTERNATIVES = 7  # candidates beyond top-k that are graded when the session was given something
MISSES_TO_STOP = 3  # in a row (M7)


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


@dataclass(frozen=True, slots=True)
class _Choice:
    """What the executor gets, and the answer as it was before anything was withheld.

    ``earlier``: the call that a repeat is withheld for, or warned of.
    """

    answer: Answer
    found: Answer
    earlier: EarlierCall | None = None
    dedup_reason: DedupReason | None = None


class Lookup:
    """The tool ``lookup_knowledge``. Thread-safe; keeps nothing between calls: the memory comes with each one."""

    def __init__(
        self, *, keywords: KeywordIndex, files: DocumentFiles, search: VectorSearch, options: LookupOptions
    ) -> None:
        self._keywords = keywords
        self._search = search
        self._options = options
        self._answerer = Answerer(files, options.language)
        self._base_folder = files.base_folder

    def run(self, request: LookupRequest, memory: SessionMemory = NO_MEMORY) -> LookupOutcome:
        """Answer one query of a session with this memory.

        Raises:
            UserError: the query is empty or too long.
        """
        started = time.perf_counter()
        asked = self._clean(request)
        findings = self._find(asked, memory)
        policy = request.domain_policy or self._options.domain_policy
        choice = self._choose(findings, asked, memory, policy)
        result = self._result(findings, choice, memory)
        log_answer(logger, result, choice.answer.similarity)
        details = retrieval_details(findings, choice.found, result, self._grading)
        details |= given_details(choice.answer)
        details |= {
            "domain_policy": policy.value,
            "force": asked.force,
            "new_domains": [domain for domain in choice.answer.domains if domain not in memory.domains],
            "earlier_invocation": choice.earlier.invocation_id if choice.earlier else None,
        }
        invocation = self._invocation(request, asked, findings, result, details, started)
        return LookupOutcome(result, invocation, call_of(invocation, choice.answer))

    def _clean(self, request: LookupRequest) -> DedupRequest:
        return DedupRequest(
            clean_query(request.query, self._options.max_query_characters),
            clean_text(request.section_title or ""),
            clean_text(request.missing_dimension or ""),
            request.force,
        )

    def _find(self, asked: DedupRequest, memory: SessionMemory) -> Findings:
        keywords = self._match(asked.query)
        unique = len(keywords.matches) == 1 and keywords.matches[0].coverage >= self._options.min_coverage
        # A new dimension of a document that was given asks for more than its summary.
        is_new = memory.is_new_dimension(asked.query, asked.dimension)
        goes_deeper = unique and is_new and memory.has_given_document(keywords.matches[0].entry.path)
        confident = unique and not goes_deeper
        log_confidence(logger, keywords.matches, confident=confident)
        if confident:
            return Findings(asked.query, keywords, confident, goes_deeper, None, None)
        text = f"{asked.query} {asked.dimension}" if is_new else asked.query
        search, problem = self._search_vectors(text, ALTERNATIVES if memory.calls else 0)
        return Findings(asked.query, keywords, confident, goes_deeper, search, problem)

    def _choose(self, findings: Findings, asked: DedupRequest, memory: SessionMemory, policy: DomainPolicy) -> _Choice:
        """The best answer that the session was not given (M3, M4); none found: a miss (Q3, M7)."""
        answers = self._answerer.answers(findings, asked.section)
        best = next(answers, None)
        if best is None:
            missed = Answer(message=self._miss_message(memory))
            return _Choice(missed, missed)
        if best.given is None or not memory.calls:
            return _Choice(best, best)
        offered = [best, *(answer for answer in answers if answer.given)]
        offers = [answer.given for answer in offered if answer.given]
        decision = decide(memory, asked, offers, policy)
        if isinstance(decision, Withhold):
            message = self._withheld_message(decision, asked, memory)
            withheld = Answer(level=RelevanceLevel.DEDUPED, message=message)
            return _Choice(withheld, best, decision.earlier, decision.reason)
        chosen = offered[decision.index]
        if decision.warning:
            warned = Withhold(DedupReason.DOMAIN_RETRIEVED, decision.warning)
            chosen = replace(chosen, message=self._withheld_message(warned, asked, memory))
        given = chosen if asked.force else self._without_repeats(chosen, memory)
        return _Choice(given, chosen, decision.warning)

    def _without_repeats(self, answer: Answer, memory: SessionMemory) -> Answer:
        """The answer without passages that another document's text already brought (M3)."""
        if answer.given is None:
            return answer
        text = without_repeats(answer.given.text, memory.texts)
        if text == answer.given.text:
            return answer
        note = messages.message(messages.REPEATS_LEFT_OUT, self._options.language)
        shortened = answer.with_text(text)
        return replace(shortened, message=f"{answer.message} {note}" if answer.message else note)

    def _miss_message(self, memory: SessionMemory) -> str:
        misses = memory.misses_in_a_row + 1
        if misses >= MISSES_TO_STOP:
            return messages.message(messages.STOP_SEARCHING, self._options.language, count=misses)
        return messages.message(messages.NOT_FOUND, self._options.language)

    def _withheld_message(self, withheld: Withhold, asked: DedupRequest, memory: SessionMemory) -> str:
        """Which earlier call gave it, and how to go on; at a second repeat of one query, that there is no more (M5)."""
        earlier = withheld.earlier
        document = earlier.given[0].document if earlier.given else ""
        repeats = memory.repeats_of(asked.query)
        key = messages.DOCUMENT_GIVEN if withheld.reason is DedupReason.DOC_RETRIEVED else messages.DOMAIN_GIVEN
        return messages.message(
            messages.REPEATED_AGAIN if repeats else key,
            self._options.language,
            query=earlier.query,
            time=f"{earlier.created_at[:19].replace('T', ' ')} UTC",
            source=source_of(self._base_folder, document),
            sections=messages.listed(self._answerer.sections_of(document)),
            count=repeats + 1,
        )

    @property
    def domain_policy(self) -> DomainPolicy:
        """As it is set."""
        return self._options.domain_policy

    def sections_of(self, path: str) -> tuple[str, ...]:
        """The sections of a document; none when it cannot be read."""
        return self._answerer.sections_of(path)

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

    def _search_vectors(self, query: str, alternatives: int) -> tuple[SearchOutcome | None, str | None]:
        try:
            outcome = self._search.search(query, alternatives=alternatives)
        except IndexUnavailable as error:
            logger.warning("[L1 语义检索] 失败: %s", error)
            return None, str(error)
        log_search(logger, outcome)
        return outcome, None

    def _result(self, findings: Findings, choice: _Choice, memory: SessionMemory) -> LookupResult:
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
            return self._sentence(messages.L1_UNAVAILABLE, findings.search_problem)
        if findings.keywords.problem:
            return self._sentence(messages.L0_UNAVAILABLE, findings.keywords.problem)
        if answer.problem:
            return answer.problem
        if findings.search and findings.search.pending:
            return messages.message(messages.STILL_INDEXING, self._options.language, count=findings.search.pending)
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
        asked: DedupRequest,
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
            query=asked.query,
            section_title=asked.section or None,
            missing_dimension=asked.dimension or None,
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
