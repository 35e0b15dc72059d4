"""A transcript into figures: what an executor asked, what it was given, what of that twice (000, ISS-002)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue, source_of
from kbapp.domain.lookup_result import DedupReason, LookupResult
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import ExecutorCall, Transcript

SHINGLE_CHARACTERS = 40
SUMMARY_SEPARATOR = "---"  # Q4: body text stands behind this line of a compact summary


@dataclass(frozen=True, slots=True)
class BodyText:
    """Body text that reached the executor; a summary's head and the metadata of a document are none."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class SimulationMetrics:
    """Figures of one task, or their sums; documents are counted per task.

    ``characters_given`` counts all content, a summary's head too; what was given twice is counted in body text alone.
    """

    steps: int
    calls: int
    calls_with_content: int
    repeats_blocked: Mapping[DedupReason, int]
    documents_given: int
    characters_given: int
    characters_given_twice: int
    needed: int
    needed_covered: int

    def to_dict(self) -> dict[str, JsonValue]:
        """The figures as JSON."""
        return {
            "steps": self.steps,
            "calls": self.calls,
            "calls_with_content": self.calls_with_content,
            "repeats_blocked": {reason.value: self.repeats_blocked[reason] for reason in DedupReason},
            "documents_given": self.documents_given,
            "characters_given": self.characters_given,
            "characters_given_twice": self.characters_given_twice,
            "needed": self.needed,
            "needed_covered": self.needed_covered,
        }


def measure(task: Task, transcript: Transcript, base_folder: str) -> SimulationMetrics:
    """The figures of one task; its ``needed`` are relative paths, sources in results begin with ``base_folder``."""
    results = [call.result for call in transcript.calls]
    bodies = [body for call in transcript.calls for body in body_texts(call)]
    given = {body.source for body in bodies}
    needed = {source_of(base_folder, path) for path in task.needed}
    return SimulationMetrics(
        steps=len(task.steps),
        calls=len(results),
        calls_with_content=sum(any(_contents(result)) for result in results),
        repeats_blocked={reason: sum(result.dedup_reason is reason for result in results) for reason in DedupReason},
        documents_given=len(given),
        characters_given=sum(len(content) for result in results for content in _contents(result)),
        characters_given_twice=repeated_characters([body.text for body in bodies]),
        needed=len(needed),
        needed_covered=len(needed & given),
    )


def total_of(metrics: Sequence[SimulationMetrics]) -> SimulationMetrics:
    """The sums over all tasks."""
    return SimulationMetrics(
        steps=sum(each.steps for each in metrics),
        calls=sum(each.calls for each in metrics),
        calls_with_content=sum(each.calls_with_content for each in metrics),
        repeats_blocked={reason: sum(each.repeats_blocked[reason] for each in metrics) for reason in DedupReason},
        documents_given=sum(each.documents_given for each in metrics),
        characters_given=sum(each.characters_given for each in metrics),
        characters_given_twice=sum(each.characters_given_twice for each in metrics),
        needed=sum(each.needed for each in metrics),
        needed_covered=sum(each.needed_covered for each in metrics),
    )


def body_texts(call: ExecutorCall) -> Iterator[BodyText]:
    """The body text of a call's result.

    Without ``availableSections`` a primary result is metadata alone; a section that was asked for is body throughout,
    a compact summary only behind its separator.
    """
    primary, supplement = call.result.primary, call.result.supplement
    if primary and primary.available_sections is not None:
        text = primary.content if call.section_title else _behind_separator(primary.content)
        if text.strip():
            yield BodyText(primary.source, text)
    if supplement and supplement.content.strip():
        yield BodyText(supplement.source, supplement.content)


def repeated_characters(texts: Iterable[str]) -> int:
    """How many characters stand in shingles of 40 that an earlier text had; white space does not count.

    A text shorter than a shingle counts when an earlier text holds all of it.
    """
    seen: set[str] = set()
    earlier: list[str] = []
    count = 0
    for text in texts:
        squeezed = "".join(text.split())
        shingles = _shingles(squeezed)
        if shingles:
            count += _covered([start for start, shingle in enumerate(shingles) if shingle in seen])
        elif any(squeezed in other for other in earlier):
            count += len(squeezed)
        seen.update(shingles)
        earlier.append(squeezed)
    return count


def _contents(result: LookupResult) -> list[str]:
    return [part.content for part in (result.primary, result.supplement) if part and part.content]


def _behind_separator(summary: str) -> str:
    _, _, body = f"\n{summary}".partition(f"\n{SUMMARY_SEPARATOR}\n")
    return body


def _shingles(text: str) -> list[str]:
    return [text[start : start + SHINGLE_CHARACTERS] for start in range(len(text) - SHINGLE_CHARACTERS + 1)]


def _covered(starts: Sequence[int]) -> int:
    """How many characters lie in the shingles at these ascending starts."""
    count, end = 0, 0
    for start in starts:
        count += start + SHINGLE_CHARACTERS - max(start, end)
        end = start + SHINGLE_CHARACTERS
    return count
