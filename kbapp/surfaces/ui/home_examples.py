"""Queries to begin with: of the sample each with what comes of it, of any other knowledge base from its entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.documents import KnowledgeEntry

MAX_OFFERED = 6


class Shows(StrEnum):
    """What an example shows."""

    PRECISE = "precise"
    HIGHLY_RELEVANT = "highly_relevant"
    REFERENCE = "reference"
    NOT_FOUND = "not_found"
    REPEAT = "repeat"
    DOMAIN_BLOCK = "domain_block"
    OWN = "own"
    """Nothing is promised: a keyword or title of the knowledge base at hand."""


@dataclass(frozen=True, slots=True)
class Example:
    """A query; ``before`` is asked first where the session has not asked it yet."""

    shows: Shows
    query: str
    before: str | None = None


# Each outcome, alone and one after the other, is checked with the bundled model by tests/golden.
SAMPLE_EXAMPLES = (
    Example(Shows.PRECISE, "ERR_TIMEOUT"),
    Example(Shows.HIGHLY_RELEVANT, "数据库连接池配置"),
    Example(Shows.REFERENCE, "故障排查"),
    Example(Shows.NOT_FOUND, "完全不存在的内容XYZ"),
    Example(Shows.REPEAT, "ERR_TIMEOUT 是什么？", before="ERR_TIMEOUT"),
    Example(Shows.DOMAIN_BLOCK, "数据库怎么优化", before="数据库连接池配置"),
)
_SAMPLE_PATHS = frozenset(
    {
        "api/payment-errors.md",
        "infrastructure/mysql-connection-pool.md",
        "infrastructure/redis-cache.md",
        "troubleshooting/fault-diagnosis-process.md",
    }
)


def is_sample(entries: Iterable[KnowledgeEntry]) -> bool:
    """Whether the documents that the sample's examples speak of are there."""
    return {entry.path for entry in entries} >= _SAMPLE_PATHS


def examples_for(entries: Sequence[KnowledgeEntry]) -> tuple[Example, ...]:
    """The sample's, or keywords of these entries: those of one entry alone first, one per domain in turn."""
    if is_sample(entries):
        return SAMPLE_EXAMPLES
    held = Counter(word for entry in entries for word in dict.fromkeys(entry.keywords))
    own = [(_word_of(entry, held), entry.domain) for entry in entries]
    return tuple(Example(Shows.OWN, word) for word in dict.fromkeys(_in_turn(own)))[:MAX_OFFERED]


def queries_of(example: Example, asked: Iterable[str]) -> tuple[str, ...]:
    """What to ask for an example in a session that has asked these queries."""
    if example.before is None or example.before in set(asked):
        return (example.query,)
    return (example.before, example.query)


def _word_of(entry: KnowledgeEntry, held: Counter[str]) -> str:
    return min(entry.keywords, key=lambda word: held[word], default=entry.title)


def _in_turn(words: Iterable[tuple[str, str]]) -> list[str]:
    """The first word of each domain, then the second of each, and so on."""
    turns: Counter[str] = Counter()
    ranked = []
    for word, domain in words:
        ranked.append((turns[domain], word))
        turns[domain] += 1
    return [word for _, word in sorted(ranked, key=lambda each: each[0])]
