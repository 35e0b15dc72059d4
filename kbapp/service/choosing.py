"""Which of the possible answers the executor gets, by what its session was given before (M3, M4, M5, M7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kbapp.domain import messages
from kbapp.domain.action_memory import DedupRequest, DomainPolicy, EarlierCall, SessionMemory, Withhold, decide
from kbapp.domain.documents import source_of
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.ports import DocumentFiles
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from kbapp.domain.repeated_text import without_repeats
from kbapp.service.answering import Answer, Answerer
from kbapp.service.findings import Findings

MISSES_TO_STOP = 3  # in a row (M7)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the executor gets, and the answer as it was before anything was withheld.

    ``earlier``: the call that a repeat is withheld for, or warned of.
    """

    answer: Answer
    found: Answer
    earlier: EarlierCall | None = None
    dedup_reason: DedupReason | None = None


class Chooser:
    """Thread-safe; keeps nothing between calls."""

    def __init__(self, files: DocumentFiles, language: HintLanguage) -> None:
        self.answerer = Answerer(files, language)
        self._language = language
        self._base_folder = files.base_folder

    def choose(self, findings: Findings, asked: DedupRequest, memory: SessionMemory, policy: DomainPolicy) -> Choice:
        """The best answer that the session was not given; none found: a miss (Q3, M7)."""
        answers = self.answerer.answers(findings, asked.section)
        best = next(answers, None)
        if best is None:
            missed = Answer(message=self._miss_message(findings, memory))
            return Choice(missed, missed)
        if best.given is None or not memory.calls:
            return Choice(best, best)
        offered = [best, *(answer for answer in answers if answer.given)]
        offers = [answer.given for answer in offered if answer.given]
        decision = decide(memory, asked, offers, policy)
        if isinstance(decision, Withhold):
            message = self._withheld_message(decision, asked, memory)
            withheld = Answer(level=RelevanceLevel.DEDUPED, message=message)
            return Choice(withheld, best, decision.earlier, decision.reason)
        chosen = offered[decision.index]
        if decision.warning:
            warned = Withhold(DedupReason.DOMAIN_RETRIEVED, decision.warning)
            chosen = replace(chosen, message=self._withheld_message(warned, asked, memory))
        given = chosen if asked.force else self._without_repeats(chosen, memory)
        return Choice(given, chosen, decision.warning)

    def _without_repeats(self, answer: Answer, memory: SessionMemory) -> Answer:
        """The answer without passages that another document's text already brought (M3)."""
        if answer.given is None:
            return answer
        text = without_repeats(answer.given.text, memory.texts_before(answer.given))
        if text == answer.given.text:
            return answer
        note = messages.message(messages.REPEATS_LEFT_OUT, self._language)
        shortened = answer.with_text(text)
        return replace(shortened, message=f"{answer.message} {note}" if answer.message else note)

    def _miss_message(self, findings: Findings, memory: SessionMemory) -> str:
        is_incomplete = findings.search is not None and not findings.l1_is_complete
        if findings.search_problem or findings.keywords.problem or is_incomplete:
            return messages.message(messages.CANNOT_TELL, self._language)
        misses = memory.misses_in_a_row + 1
        if misses >= MISSES_TO_STOP:
            return messages.message(messages.STOP_SEARCHING, self._language, count=misses)
        return messages.message(messages.NOT_FOUND, self._language)

    def _withheld_message(self, withheld: Withhold, asked: DedupRequest, memory: SessionMemory) -> str:
        """Which earlier call gave it, and how to go on; at a second repeat of one query, that there is no more (M5)."""
        earlier = withheld.earlier
        document = earlier.given[0].document if earlier.given else ""
        repeats = memory.repeats_of(asked.query)
        key = messages.DOCUMENT_GIVEN if withheld.reason is DedupReason.DOC_RETRIEVED else messages.DOMAIN_GIVEN
        return messages.message(
            messages.REPEATED_AGAIN if repeats else key,
            self._language,
            query=earlier.query,
            time=f"{earlier.created_at[:19].replace('T', ' ')} UTC",
            source=source_of(self._base_folder, document),
            section_way=messages.section_way(self.answerer.sections_of(document), self._language),
            count=repeats + 1,
        )
