"""What retrieval must beat: plain substring search, and BM25 over bigrams, on the documents' bodies."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping

from kbapp.domain.tokens import content_tokens, tokens_of

K1 = 1.2  # Robertson & Zaragoza 2009
B = 0.75

Baseline = Callable[[str], tuple[str, ...]]
"""A query into the documents that it finds, best first."""


def baselines(bodies: Mapping[str, str]) -> dict[str, Baseline]:
    """Both baselines over document bodies by path."""
    return {"substring": substring_search(bodies), "bm25": bm25(bodies)}


def substring_search(bodies: Mapping[str, str]) -> Baseline:
    """``grep -i`` with the query's terms: the documents that hold most of them, then those that hold them most often.

    Terms are words and, since Chinese has no spaces, bigrams of Chinese runs; question words are left out.
    """
    folded = {path: _folded(body) for path, body in bodies.items()}

    def search(query: str) -> tuple[str, ...]:
        terms = _terms(query)
        found = {}
        for path, body in folded.items():
            counts = [count for count in map(body.count, terms) if count]
            if counts:
                found[path] = (-len(counts), -sum(counts), path)
        return tuple(sorted(found, key=lambda path: found[path]))

    return search


def bm25(bodies: Mapping[str, str]) -> Baseline:
    """Okapi BM25 with the idf that stays positive, over the tokens of full-text search, whole documents."""
    frequencies = {path: Counter(tokens_of(body)) for path, body in bodies.items()}
    lengths = {path: counts.total() for path, counts in frequencies.items()}
    mean_length = (sum(lengths.values()) / len(lengths) if lengths else 0) or 1
    postings: dict[str, list[str]] = {}
    for path, counts in frequencies.items():
        for token in counts:
            postings.setdefault(token, []).append(path)

    def search(query: str) -> tuple[str, ...]:
        scores: dict[str, float] = {}
        for term in _terms(query):
            holders = postings.get(term, [])
            idf = math.log(1 + (len(bodies) - len(holders) + 0.5) / (len(holders) + 0.5))
            for path in holders:
                count = frequencies[path][term]
                norm = K1 * (1 - B + B * lengths[path] / mean_length)
                scores[path] = scores.get(path, 0.0) + idf * count * (K1 + 1) / (count + norm)
        return tuple(sorted(scores, key=lambda path: (-scores[path], path)))

    return search


def _terms(query: str) -> list[str]:
    return content_tokens(query) or list(dict.fromkeys(tokens_of(query)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()
