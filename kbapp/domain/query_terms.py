"""What a query names, weighed by how rare it is in the knowledge base: the lexical side of the evidence (G5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from kbapp.domain.tokens import content_tokens, distinct_tokens, tokens_of

BM25_CEILING = 2.2
"""k1 + 1 of FTS5's BM25 (k1 = 1.2): what each term's weight is multiplied by at most."""


class FoundTerms(NamedTuple):
    """Of a query's content tokens those that stand in a text: their weight, how many, in how many runs.

    A run is a stretch of the query: the three bigrams of one word of four characters are one.
    """

    weight: float
    terms: int
    runs: int


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Content tokens of a query with their weights, the weight of the Latin ones that stand nowhere, all in order."""

    weights: Mapping[str, float]
    unknown_weight: float
    tokens: tuple[str, ...]

    @property
    def weight(self) -> float:
        """Of all tokens together."""
        return sum(self.weights.values())

    def found_in(self, text: str) -> FoundTerms:
        """What of the query stands in a text."""
        held = self.weights.keys() & distinct_tokens(text)
        is_held = [token in held for token in self.tokens]
        runs = sum(now and not before for before, now in pairwise([False, *is_held]))
        return FoundTerms(sum(self.weights[token] for token in sorted(held)), len(held), runs)

    def share_of(self, bm25: float) -> float:
        """A BM25 score as a share of the highest one that the query allows, 0 … about 1."""
        ceiling = BM25_CEILING * self.weight
        return bm25 / ceiling if ceiling else 0.0


def weigh_terms(query: str, frequencies: Mapping[str, int], chunk_count: int) -> QueryTerms:
    """Weights by BM25's idf, ``ln(1 + (N − n + 0.5) / (n + 0.5))`` with n of N chunks holding the token."""
    weights = {token: _rarity(frequencies.get(token, 0), chunk_count) for token in content_tokens(query)}
    unknown = sum(weight for token, weight in weights.items() if token.isascii() and token not in frequencies)
    return QueryTerms(weights, unknown, tuple(tokens_of(query)))


def _rarity(frequency: int, chunk_count: int) -> float:
    return math.log(1 + (chunk_count - frequency + 0.5) / (frequency + 0.5))
