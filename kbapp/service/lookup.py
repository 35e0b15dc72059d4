"""One lookup from top to bottom: match (L0) → search (L1) → grade → answer → telemetry row (design §4)."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kbapp.domain import messages
from kbapp.domain.documents import Document, JsonValue, domain_of, source_of
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import TOOL_NAME, Invocation, outcome_of
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import Confidence, LookupResult, PrimaryResult, SupplementResult
from kbapp.domain.ports import DocumentFiles, KeywordIndex
from kbapp.domain.query import clean_query, clean_text
from kbapp.domain.relevance import HINTS, HintLanguage, RelevanceLevel
from kbapp.domain.sections import SectionText, parse_headings, section_text
from kbapp.domain.summaries import available_sections, compact_summary, metadata_summary
from kbapp.service.clock import now
from kbapp.service.lookup_details import retrieval_details
from kbapp.service.lookup_log import log_answer, log_confidence, log_keyword_matches, log_search
from kbapp.service.vector_search import Candidate, SearchOutcome, VectorSearch

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


@dataclass(frozen=True, slots=True)
class KeywordOutcome:
    """What L0 said; ``problem`` when it could not answer."""

    matches: tuple[KeywordMatch, ...]
    milliseconds: float
    problem: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that one query found, before anything is chosen."""

    query: str
    keywords: KeywordOutcome
    confident: bool
    search: SearchOutcome | None
    search_problem: str | None

    @property
    def matches(self) -> tuple[KeywordMatch, ...]:
        """The L0 matches, best first; of equal scores the one with the better L1 rank (Q2)."""
        ranks = {candidate.stored.path: rank for rank, candidate in reversed(list(enumerate(self.results)))}
        return tuple(
            sorted(
                self.keywords.matches,
                key=lambda match: (-match.score, ranks.get(match.entry.path, len(ranks)), match.entry.path),
            )
        )

    @property
    def results(self) -> tuple[Candidate, ...]:
        """The L1 candidates that are good enough to be given."""
        return self.search.results if self.search else ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is given, and why it has its level."""

    primary: PrimaryResult | None = None
    supplement: SupplementResult | None = None
    level: RelevanceLevel | None = None
    message: str | None = None
    problem: str | None = None
    given: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether anything was found."""
        return self.level is not None


class Lookup:
    """The tool ``lookup_knowledge``. Thread-safe; keeps nothing between calls."""

    def __init__(
        self, *, keywords: KeywordIndex, files: DocumentFiles, search: VectorSearch, options: LookupOptions
    ) -> None:
        self._keywords = keywords
        self._files = files
        self._search = search
        self._options = options

    def run(self, request: LookupRequest) -> tuple[LookupResult, Invocation]:
        """Answer one query; the invocation holds everything that the result hides.

        Raises:
            UserError: the query is empty or too long.
        """
        started = time.perf_counter()
        query = clean_query(request.query, self._options.max_query_characters)
        findings = self._find(query)
        answer = self._answer(findings, request)
        result = self._result(findings, answer)
        log_answer(logger, result, findings.results)
        return result, self._invocation(request, findings, result, (time.perf_counter() - started) * 1000)

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

    def _answer(self, findings: Findings, request: LookupRequest) -> Answer:
        section = clean_text(request.section_title or "")
        if section:
            return self._answer_with_section(findings, section)
        if findings.confident:
            return self._answer_with_document(findings.matches[0], Confidence.HIGH, RelevanceLevel.PRECISE)
        if findings.matches and not findings.results:
            return self._answer_with_document(findings.matches[0], Confidence.LOW, RelevanceLevel.REFERENCE)
        if not findings.results:
            return Answer(message=messages.message(messages.NOT_FOUND, self._options.language))
        best = findings.results[0]
        answer = Answer(
            supplement=self._supplement(best, best.stored.chunk.content), level=best.level, given=(best.stored.path,)
        )
        return self._with_metadata(answer, findings.matches) if findings.matches else answer

    def _with_metadata(self, answer: Answer, matches: Sequence[KeywordMatch]) -> Answer:
        """Several L0 matches beside an L1 result: a summary from memory, no file is read (Q2)."""
        entry = matches[0].entry
        primary = self._primary(matches[0], metadata_summary(entry), Confidence.LOW, None)
        text = messages.message(messages.AMBIGUOUS_MATCH, self._options.language, count=len(matches))
        return replace(answer, primary=primary, message=text, given=(entry.path, *answer.given))

    def _answer_with_document(self, match: KeywordMatch, confidence: Confidence, level: RelevanceLevel) -> Answer:
        """The compact summary of a document (Q4); its metadata alone when the file cannot be read."""
        path = match.entry.path
        try:
            document = self._files.read(path)
        except UserError as error:
            logger.warning("[L0 主结果] %s", error)
            primary = self._primary(match, metadata_summary(match.entry), confidence, None)
            return Answer(
                primary=primary, level=level, given=(path,), problem=self._degraded(messages.FILE_UNREADABLE, error)
            )
        keyword = next((matched.keyword for matched in match.matched if not matched.is_title), None)
        summary = compact_summary(match.entry, document, keyword)
        return Answer(
            primary=self._primary(match, summary, confidence, available_sections(document)), level=level, given=(path,)
        )

    def _answer_with_section(self, findings: Findings, title: str) -> Answer:
        """One section of the document that the query found; its list of sections when it has none of that name (Q6)."""
        if findings.confident or (findings.matches and not findings.results):
            match = findings.matches[0]
            level = RelevanceLevel.PRECISE if findings.confident else RelevanceLevel.REFERENCE
            confidence = Confidence.HIGH if findings.confident else Confidence.LOW
            try:
                document = self._files.read(match.entry.path)
            except UserError as error:
                return Answer(problem=self._degraded(messages.FILE_UNREADABLE, error))
            text, note = self._section_of(document, title)
            primary = self._primary(match, text, confidence, available_sections(document))
            return Answer(primary=primary, level=level, message=note, given=(document.path,))
        return self._answer_with_found_section(findings.results, title)

    def _answer_with_found_section(self, results: Sequence[Candidate], title: str) -> Answer:
        """The section from the best L1 result whose document has it; else the sections of the best one."""
        documents = []
        for candidate in results:
            try:
                documents.append((candidate, self._files.read(candidate.stored.path)))
            except UserError as error:
                logger.warning("[L1 补充] %s", error)
        if not documents:
            return Answer(message=messages.message(messages.NOT_FOUND, self._options.language))
        candidate, document = next(
            ((candidate, document) for candidate, document in documents if _find_section(document, title)), documents[0]
        )
        text, note = self._section_of(document, title)
        return Answer(
            supplement=self._supplement(candidate, text), level=candidate.level, message=note, given=(document.path,)
        )

    def _section_of(self, document: Document, title: str) -> tuple[str, str | None]:
        found = _find_section(document, title)
        if found is not None:
            return found.text, None
        names = " / ".join(available_sections(document)) or "–"
        note = messages.message(messages.NO_SUCH_SECTION, self._options.language, section=title, sections=names)
        return "", note

    def _primary(
        self, match: KeywordMatch, content: str, confidence: Confidence, sections: tuple[str, ...] | None
    ) -> PrimaryResult:
        return PrimaryResult(content, self._source(match.entry.path), match.entry.title, confidence, sections)

    def _supplement(self, candidate: Candidate, content: str) -> SupplementResult:
        chunk = candidate.stored.chunk
        return SupplementResult(content, self._source(candidate.stored.path), chunk.title, chunk.breadcrumb)

    def _source(self, path: str) -> str:
        return source_of(self._files.base_folder, path)

    def _degraded(self, key: str, reason: object) -> str:
        return messages.message(key, self._options.language, reason=reason)

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
            return self._degraded(messages.L1_UNAVAILABLE, findings.search_problem)
        if findings.keywords.problem:
            return self._degraded(messages.L0_UNAVAILABLE, findings.keywords.problem)
        if answer.problem:
            return answer.problem
        if findings.search and findings.search.full_text_problem:
            return self._degraded(messages.FULL_TEXT_UNAVAILABLE, findings.search.full_text_problem)
        return None

    def _invocation(
        self, request: LookupRequest, findings: Findings, result: LookupResult, milliseconds: float
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
            duration_ms=round(milliseconds, 3),
            l0_ms=round(findings.keywords.milliseconds, 3),
            embed_ms=round(search.embed_ms, 3) if search else None,
            l1_ms=round(search.search_ms, 3) if search else None,
            l0_match_count=len(findings.keywords.matches),
            l1_called=not findings.confident,
            found=result.found,
            outcome=outcome_of(error=None, degraded=result.degraded, level=result.relevance_level, found=result.found),
            relevance_level=result.relevance_level,
            dedup_reason=result.dedup_reason,
            retrieval_details=self._details(findings, result),
            error=None,
        )

    def _details(self, findings: Findings, result: LookupResult) -> dict[str, JsonValue]:
        return retrieval_details(
            matches=findings.matches,
            search=findings.search,
            profile=self._search.profile,
            thresholds=self._search.options.thresholds,
            result=result,
        )


def _find_section(document: Document, title: str) -> SectionText | None:
    headings = parse_headings(document.body, document.literal_lines)
    return section_text(document.body, headings, title, document.title)
