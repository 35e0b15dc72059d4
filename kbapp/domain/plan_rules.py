"""Whether a step of a plan may still be looked up: the four constraints of 000 §5, without a language model.

All that is known here is the plan itself, and what the calls so far asked and were given.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kbapp.domain.documents import domain_of
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.tokens import content_tokens, tokens_of
from kbapp.domain.transcript import ExecutorCall, SkipCause, SkipKind

# Measured on two knowledge bases, see benchmarks/simulation.md: a step asks again when the words it brings that were
# neither asked nor given are at most (1 + NEW_WORDS)·exp(CLOSENESS_WEIGHT·closeness) − 1, unless all of it is new.
NEW_WORDS = 4
CLOSENESS_WEIGHT = 3.0
MISSES_TO_STOP = 3  # in a row (M7)

Similarities = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rules:
    """How much a step may bring and still be a repeat; the defaults are what was measured."""

    new_words: float = NEW_WORDS
    closeness_weight: float = CLOSENESS_WEIGHT


MEASURED = Rules()


@dataclass(frozen=True)
class Plan:
    """The steps of a task, and the cosine of each with each, ``(n, n)``: how alike the sentences are."""

    steps: tuple[str, ...]
    similarities: Similarities

    @cached_property
    def closeness(self) -> Similarities:
        """``(n, n)``, 0 … 1: about 1 for the same sentence, 0 for two no nearer than steps of this plan mostly are.

        Row ``i`` counts from the mean of step ``i`` with the others, since what "near" is differs by model and topic.
        """
        count = len(self.steps)
        if count < 2:
            return np.ones((count, count), dtype=np.float32)
        means = (self.similarities.sum(axis=1) - np.diag(self.similarities)) / (count - 1)
        room = max(1 - float(means.mean()), 1e-6)
        closeness: Similarities = ((self.similarities - means[:, None]) / room).clip(0, 1).astype(np.float32)
        return closeness


@dataclass(frozen=True, slots=True)
class Heard:
    """What one call told its executor; ``step`` counts from 0, ``words`` are those it asked with and was given."""

    step: int
    query: str
    level: RelevanceLevel | None
    domains: tuple[str, ...]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ask:
    """Look the step up; with the dimension that what was given so far lacks, when the step is near to it."""

    missing_dimension: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """Do not look the step up; ``reason`` is a sentence for people, ``cause`` the same in parts."""

    reason: str
    cause: SkipCause = field(compare=False)


def heard_of(call: ExecutorCall, step: int) -> Heard:
    """What a call told. Metadata alone is no content, and a REFERENCE is background: its text answers nothing."""
    result = call.result
    texts = [call.query, call.missing_dimension or ""]
    sources = []
    if result.primary and result.primary.available_sections is not None:
        texts += [result.primary.title, result.primary.content, *result.primary.available_sections]
        sources.append(result.primary.source)
    if result.supplement:
        texts += [result.supplement.breadcrumb, result.supplement.content]
        sources.append(result.supplement.source)
    answering = texts[:2] if result.relevance_level is RelevanceLevel.REFERENCE else texts
    words = frozenset(token for text in answering for token in tokens_of(text))
    return Heard(step, call.query, result.relevance_level, tuple(dict.fromkeys(map(_domain_in, sources))), words)


def rule_on(plan: Plan, heard: Sequence[Heard], step: int, rules: Rules = MEASURED) -> Ask | Leave:
    """Whether step number ``step``, from 0, may be looked up after these calls."""
    if misses_in_a_row(heard) >= MISSES_TO_STOP:
        reason = f"{MISSES_TO_STOP} searches in a row found nothing: told to stop searching"
        return Leave(reason, SkipCause(SkipKind.STOPPED))
    if not heard:
        return Ask()
    known = frozenset().union(*(each.words for each in heard))
    content = content_tokens(plan.steps[step])
    new_words = [word for word in content if word not in known]
    nearest = max(heard, key=lambda each: (float(plan.closeness[step, each.step]), each.step))
    closeness = float(plan.closeness[step, nearest.step])
    if not _is_another_question(content, new_words, closeness) and _asks_again(len(new_words), closeness, rules):
        return _leave_after(nearest)
    is_near = closeness > 0 and bool(nearest.domains)
    return Ask(marked(plan.steps[step], new_words) or None) if is_near else Ask()


def _is_another_question(content: Sequence[str], new_words: Sequence[str], closeness: float) -> bool:
    """However short: nothing of it was asked or given, and it is near to no earlier step."""
    return bool(content) and len(new_words) == len(content) and closeness <= 0


def _asks_again(new_words: int, closeness: float, rules: Rules) -> bool:
    return math.log1p(new_words) <= math.log1p(rules.new_words) + rules.closeness_weight * closeness


def misses_in_a_row(heard: Sequence[Heard]) -> int:
    """How many calls found nothing since the last one that gave something; a repeat that was blocked gave nothing."""
    count = 0
    for each in reversed(heard):
        if each.level is None:
            count += 1
        elif each.level is not RelevanceLevel.DEDUPED:
            break
    return count


def marked(text: str, words: Collection[str]) -> str:
    """The parts of a text that these tokens cover, as they are written, one blank between them."""
    folded = unicodedata.normalize("NFKC", text)
    lowered = folded.lower()
    if len(lowered) != len(folded):
        folded = lowered
    covered = [False] * len(folded)
    for word in words:
        start = lowered.find(word)
        while start >= 0:
            covered[start : start + len(word)] = [True] * len(word)
            start = lowered.find(word, start + 1)
    kept = (character if is_covered else " " for character, is_covered in zip(folded, covered, strict=True))
    return " ".join("".join(kept).split())


def word_similarities(texts: Sequence[str]) -> Similarities:
    """The cosine of texts as sets of tokens, ``(n, n)``: what is left when no model can tell how alike they are."""
    tokens = [set(content_tokens(text)) for text in texts]
    rows = [[_overlap(one, other) for other in tokens] for one in tokens]
    return np.array(rows, dtype=np.float32).reshape(len(texts), len(texts))


def _overlap(one: set[str], other: set[str]) -> float:
    if one == other:
        return 1.0
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0


def _domain_in(source: str) -> str:
    """The domain as an executor reads it: the first folder below the knowledge base's."""
    _, _, path = source.partition("/")
    return domain_of(path)


def _leave_after(nearest: Heard) -> Leave:
    query = nearest.query
    match nearest.level:
        case None:
            return Leave(f"asks again for what was not found: “{query}”", SkipCause(SkipKind.NOT_FOUND, query))
        case RelevanceLevel.PRECISE:
            return Leave(f"the question is answered: “{query}” was PRECISE", SkipCause(SkipKind.PRECISE, query))
        case RelevanceLevel.DEDUPED:
            reason = f"asks again for what this session has: “{query}” was DEDUPED"
            return Leave(reason, SkipCause(SkipKind.DEDUPED, query))
        case RelevanceLevel.HIGHLY_RELEVANT:
            domain = nearest.domains[0]
            reason = f"the domain {domain} is retrieved: “{query}” was HIGHLY_RELEVANT"
            return Leave(reason, SkipCause(SkipKind.HIGHLY_RELEVANT, query, domain))
        case RelevanceLevel.REFERENCE:
            reason = f"no dimension to name that “{query}” lacks: it was a REFERENCE"
            return Leave(reason, SkipCause(SkipKind.REFERENCE, query))
