"""What a query names, weighed by how rare it is in the knowledge base: the lexical side of the evidence (G5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kbapp.domain.tokens import content_tokens, tokens_of


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Content tokens of a query with their weights, and the share of the weight in unknown Latin tokens."""

    weights: Mapping[str, float]
    unknown_share: float

    def found_in(self, text: str) -> tuple[float, int]:
        """Share of the weight that stands in a text, 0 … 1, and how many of the tokens do."""
        held = self.weights.keys() & set(tokens_of(text))
        total = sum(self.weights.values())
        return (sum(self.weights[token] for token in held) / total if total else 0.0), len(held)


def weigh_terms(query: str, frequencies: Mapping[str, int], chunk_count: int) -> QueryTerms:
    """Weights by BM25's idf, ``ln(1 + (N − n + 0.5) / (n + 0.5))`` with n of N chunks holding the token."""
    weights = {token: _rarity(frequencies.get(token, 0), chunk_count) for token in content_tokens(query)}
    unknown = sum(weight for token, weight in weights.items() if token.isascii() and token not in frequencies)
    total = sum(weights.values())
    return QueryTerms(weights, unknown / total if total else 0.0)


def _rarity(frequency: int, chunk_count: int) -> float:
    return math.log(1 + (chunk_count - frequency + 0.5) / (frequency + 0.5))
