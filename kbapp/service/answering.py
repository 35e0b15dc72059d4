"""What was found into what is given: summaries, sections, chunks, and the level of it (Q1–Q6, G2)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kbapp.domain import messages
from kbapp.domain.documents import Document, source_of
from kbapp.domain.errors import UserError
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import Confidence, PrimaryResult, SupplementResult
from kbapp.domain.ports import DocumentFiles
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from kbapp.domain.sections import SectionText, parse_headings, section_text
from kbapp.domain.summaries import available_sections, compact_summary, metadata_summary
from kbapp.service.findings import Findings
from kbapp.service.vector_search import Candidate

logger = logging.getLogger("kbapp.lookup")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is given, and why it has its level.

    ``section_from``: the L1 candidate whose document has the section that was asked for; it need not be the best one.
    """

    primary: PrimaryResult | None = None
    supplement: SupplementResult | None = None
    level: RelevanceLevel | None = None
    message: str | None = None
    problem: str | None = None
    given: tuple[str, ...] = ()
    section_from: Candidate | None = None

    @property
    def found(self) -> bool:
        """Whether anything was found."""
        return self.level is not None


class Answerer:
    """Chooses and words an answer; reads the file of a document that is given. Thread-safe."""

    def __init__(self, files: DocumentFiles, language: HintLanguage) -> None:
        self._files = files
        self._language = language

    def answer(self, findings: Findings, section: str) -> Answer:
        """What to give of what was found; a ``section`` title asks for that section alone (Q6)."""
        if section:
            return self._answer_with_section(findings, section)
        if findings.confident:
            return self._answer_with_document(findings.matches[0], Confidence.HIGH, RelevanceLevel.PRECISE)
        if findings.matches and not findings.results:
            return self._answer_with_document(findings.matches[0], Confidence.LOW, RelevanceLevel.REFERENCE)
        if not findings.results:
            return Answer(message=messages.message(messages.NOT_FOUND, self._language))
        best = findings.results[0]
        answer = Answer(
            supplement=self._supplement(best, best.stored.chunk.content), level=best.level, given=(best.stored.path,)
        )
        return self._with_metadata(answer, findings.matches) if findings.matches else answer

    def _with_metadata(self, answer: Answer, matches: Sequence[KeywordMatch]) -> Answer:
        """Several L0 matches beside an L1 result: a summary from memory, no file is read (Q2)."""
        entry = matches[0].entry
        primary = self._primary(matches[0], metadata_summary(entry), Confidence.LOW, None)
        text = messages.message(messages.AMBIGUOUS_MATCH, self._language, count=len(matches))
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
            return Answer(message=messages.message(messages.NOT_FOUND, self._language))
        candidate, document = next(
            ((candidate, document) for candidate, document in documents if _find_section(document, title)), documents[0]
        )
        text, note = self._section_of(document, title)
        return Answer(
            supplement=self._supplement(candidate, text),
            level=candidate.level,
            message=note,
            given=(document.path,),
            section_from=candidate,
        )

    def _section_of(self, document: Document, title: str) -> tuple[str, str | None]:
        found = _find_section(document, title)
        if found is not None:
            return found.text, None
        names = " / ".join(available_sections(document)) or "–"
        note = messages.message(messages.NO_SUCH_SECTION, self._language, section=title, sections=names)
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
        return messages.message(key, self._language, reason=reason)


def _find_section(document: Document, title: str) -> SectionText | None:
    headings = parse_headings(document.body, document.literal_lines)
    return section_text(document.body, headings, title, document.title)
