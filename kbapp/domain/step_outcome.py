"""An entry of a transcript into what became of it: a level, a repeat, a miss, or nothing that was looked up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.transcript import Entry, SkipKind, SkippedStep


class StepOutcome(StrEnum):
    """What became of a step, best first; errors, degraded answers, repeats and misses are four different things."""

    PRECISE = "PRECISE"
    HIGHLY_RELEVANT = "HIGHLY_RELEVANT"
    REFERENCE = "REFERENCE"
    DEDUPED = "DEDUPED"
    NOT_FOUND = "not_found"
    DEGRADED = "degraded"
    """Nothing was found, but not all could be searched."""
    REFUSED = "refused"
    LEFT_OUT = "left_out"


def step_outcome(entry: Entry) -> StepOutcome:
    """What became of this entry."""
    if isinstance(entry, SkippedStep):
        return StepOutcome.REFUSED if entry.cause.kind is SkipKind.REFUSED else StepOutcome.LEFT_OUT
    level: RelevanceLevel | None = entry.result.relevance_level
    if level is not None:
        return StepOutcome(level.value)
    return StepOutcome.DEGRADED if entry.result.degraded else StepOutcome.NOT_FOUND


def outcome_counts(entries: Iterable[Entry]) -> dict[StepOutcome, int]:
    """How many entries came to each outcome, best first; those that did not happen are left out."""
    counts = Counter(map(step_outcome, entries))
    return {outcome: counts[outcome] for outcome in StepOutcome if counts[outcome]}
