"""What was found into what could be given, best first: summaries, sections, chunks (Q1–Q6, G2, G7)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kbapp.domain import messages
from kbapp.domain.action_memory import GivenText
from kbapp.domain.documents import Document, KnowledgeEntry, domain_of, source_of
from kbapp.domain.errors import UserError
from kbapp.domain.hashing import text_hash
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import Confidence, PrimaryResult, SupplementResult
from kbapp.domain.ports import DocumentFiles
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from kbapp.domain.sections import PATH_SEPARATOR, SectionText, parse_headings, section_text
from kbapp.domain.summaries import available_sections, compact_summary, metadata_summary
from kbapp.service.findings import Findings
from kbapp.service.vector_search import Candidate

logger = logging.getLogger("kbapp.lookup")

SUMMARY_ALTERNATIVES = 3  # files that are read for the case that the best match was given before


@dataclass(frozen=True, slots=True)
class Answer:
    """What is given; ``given`` is the body text in it, ``mentioned`` are the documents that it names besides.

    ``section_from``: the L1 candidate whose document has the section that was asked for; it need not be the best one.
    """

    primary: PrimaryResult | None = None
    supplement: SupplementResult | None = None
    level: RelevanceLevel | None = None
    message: str | None = None
    problem: str | None = None
    given: GivenText | None = None
    mentioned: tuple[str, ...] = ()
    section_from: Candidate | None = None
    similarity: float | None = None  # of the L1 candidate that the supplement comes from

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of all documents in the answer, the primary's first."""
        paths = [*self.mentioned, *([self.given.document] if self.given else [])]
        return tuple(dict.fromkeys(domain_of(path) for path in paths))

    def with_text(self, text: str) -> Answer:
        """The same with another wording of its body text."""
        given = replace(self.given, text=text) if self.given else None
        if self.supplement:
            return replace(self, supplement=replace(self.supplement, content=text), given=given)
        return replace(self, primary=replace(self.primary, content=text) if self.primary else None, given=given)


class Answerer:
    """Words what was found; reads the file of a document that may be given. Thread-safe."""

    def __init__(self, files: DocumentFiles, language: HintLanguage) -> None:
        self._files = files
        self._language = language

    def answers(self, findings: Findings, section: str) -> Iterator[Answer]:
        """What could be given, best first, made when asked for; a ``section`` title asks for that section alone."""
        if section:
            yield from self._section_answers(findings, section)
        elif findings.confident:
            yield self._summary(findings.matches[0], Confidence.HIGH, RelevanceLevel.PRECISE)
        elif findings.results:
            yield from self._chunk_answers(findings)
        elif not findings.is_unsupported:
            for match in findings.matches[:SUMMARY_ALTERNATIVES]:
                yield self._summary(match, Confidence.LOW, RelevanceLevel.REFERENCE)

    def sections_of(self, path: str) -> tuple[str, ...]:
        """The sections of a document that was given; none when it cannot be read any more."""
        try:
            return available_sections(self._files.read(path))
        except UserError:
            return ()

    def _chunk_answers(self, findings: Findings) -> Iterator[Answer]:
        for candidate in findings.alternatives:
            chunk = candidate.stored.chunk
            answer = Answer(
                supplement=self._supplement(candidate, chunk.content),
                level=candidate.level,
                given=_chunk_text(candidate, chunk.content, candidate.stored.id),
                similarity=candidate.similarity,
            )
            yield self._with_metadata(answer, findings.matches) if findings.matches else answer

    def _with_metadata(self, answer: Answer, matches: Sequence[KeywordMatch]) -> Answer:
        """Several L0 matches beside an L1 result: a summary from memory, no file is read (Q2)."""
        entry = matches[0].entry
        primary = self._primary(entry, metadata_summary(entry), Confidence.LOW, None)
        text = messages.message(messages.AMBIGUOUS_MATCH, self._language, count=len(matches))
        return replace(answer, primary=primary, message=text, mentioned=(entry.path,))

    def _summary(self, match: KeywordMatch, confidence: Confidence, level: RelevanceLevel) -> Answer:
        """The compact summary of a document (Q4); its metadata alone when the file cannot be read."""
        path = match.entry.path
        try:
            document = self._files.read(path)
        except UserError as error:
            logger.warning("[L0 主结果] %s", error)
            return self._unreadable_match(match, confidence, level, error)
        keyword = next((matched.keyword for matched in match.matched if not matched.is_title), None)
        entry = _entry_of(document)
        summary = compact_summary(entry, document, keyword)
        primary = self._primary(entry, summary, confidence, available_sections(document))
        return Answer(primary=primary, level=level, given=_document_text(document, level, summary, ""))

    def _unreadable_match(
        self, match: KeywordMatch, confidence: Confidence, level: RelevanceLevel, error: UserError
    ) -> Answer:
        primary = self._primary(match.entry, metadata_summary(match.entry), confidence, None)
        return Answer(primary=primary, level=level, mentioned=(match.entry.path,), problem=self._unreadable(error))

    def _section_answers(self, findings: Findings, title: str) -> Iterator[Answer]:
        """The section of the document that the query found; its list of sections when it has none of that name (Q6)."""
        if findings.confident or (findings.matches and not findings.results and not findings.is_unsupported):
            yield self._section_of_match(findings.matches[0], title, confident=findings.confident)
        else:
            yield from self._sections_of_results(findings.results, title)

    def _section_of_match(self, match: KeywordMatch, title: str, *, confident: bool) -> Answer:
        level = RelevanceLevel.PRECISE if confident else RelevanceLevel.REFERENCE
        confidence = Confidence.HIGH if confident else Confidence.LOW
        path = match.entry.path
        try:
            document = self._files.read(path)
        except UserError as error:
            logger.warning("[L0 主结果] %s", error)
            return self._unreadable_match(match, confidence, level, error)
        section = _find_section(document, title)
        text = section.text if section else ""
        primary = self._primary(_entry_of(document), text, confidence, available_sections(document))
        answer = Answer(primary=primary, level=level)
        if section is None:
            return replace(answer, message=self._no_section(document, title), mentioned=(path,))
        return replace(answer, given=_document_text(document, level, text, f"section:{section.title}"))

    def _sections_of_results(self, results: Sequence[Candidate], title: str) -> Iterator[Answer]:
        """The section from each L1 result whose document has it; else the sections of the best one."""
        documents: dict[str, tuple[Candidate, Document]] = {}
        problem: str | None = None
        for candidate in results:
            path = candidate.stored.path
            try:
                documents.setdefault(path, (candidate, self._files.read(path)))
            except UserError as error:
                logger.warning("[L1 补充] %s", error)
                problem = self._unreadable(error)
        if results and not documents:
            best = results[0]
            chunk = best.stored.chunk
            given = _chunk_text(best, chunk.content, best.stored.id)
            yield Answer(
                supplement=self._supplement(best, chunk.content), level=best.level, given=given, problem=problem
            )
        found = [(candidate, document, _find_section(document, title)) for candidate, document in documents.values()]
        for candidate, document, section in found:
            if section and candidate.level:
                yield Answer(
                    supplement=self._section_supplement(document, section),
                    level=candidate.level,
                    given=_document_text(document, candidate.level, section.text, f"section:{section.title}"),
                    section_from=candidate,
                    similarity=candidate.similarity,
                )
        if found and not any(section for _, _, section in found):
            candidate, document, _ = found[0]
            yield Answer(
                supplement=self._supplement(candidate, ""),
                level=candidate.level,
                message=self._no_section(document, title),
                mentioned=(document.path,),
                section_from=candidate,
                similarity=candidate.similarity,
            )

    def _no_section(self, document: Document, title: str) -> str:
        names = messages.listed(available_sections(document))
        return messages.message(messages.NO_SUCH_SECTION, self._language, section=title, sections=names)

    def _primary(
        self, entry: KnowledgeEntry, content: str, confidence: Confidence, sections: tuple[str, ...] | None
    ) -> PrimaryResult:
        return PrimaryResult(content, source_of(self._files.base_folder, entry.path), entry.title, confidence, sections)

    def _supplement(self, candidate: Candidate, content: str) -> SupplementResult:
        chunk = candidate.stored.chunk
        source = source_of(self._files.base_folder, candidate.stored.path)
        return SupplementResult(content, source, chunk.title, chunk.breadcrumb)

    def _section_supplement(self, document: Document, section: SectionText) -> SupplementResult:
        source = source_of(self._files.base_folder, document.path)
        breadcrumb = PATH_SEPARATOR.join(dict.fromkeys((document.title, section.title)))
        return SupplementResult(section.text, source, section.title, breadcrumb)

    def _unreadable(self, error: UserError) -> str:
        return messages.message(messages.FILE_UNREADABLE, self._language, reason=error)


def _chunk_text(candidate: Candidate, text: str, part: str) -> GivenText | None:
    stored = candidate.stored
    if candidate.level is None:
        return None
    return GivenText(stored.path, stored.domain, candidate.level, stored.document_hash, text_hash(text), part, text)


def _document_text(document: Document, level: RelevanceLevel, text: str, part: str) -> GivenText:
    return GivenText(document.path, document.domain, level, document.content_hash, text_hash(text), part, text)


def _entry_of(document: Document) -> KnowledgeEntry:
    """Title and summary of the very reading that the text is from; L0 may know an earlier version."""
    return document.entry or KnowledgeEntry(document.path, document.title, (), None)


def _find_section(document: Document, title: str) -> SectionText | None:
    headings = parse_headings(document.body, document.literal_lines)
    return section_text(document.body, headings, title, document.title)
