"""Where levels begin in one knowledge base, from what probe queries reach that it hardly answers (G5).

A score that is worth much in one knowledge base is worth little in another, so that a threshold does not carry over.
The share of probes that reaches it does (``benchmarks/quality.md``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from kbapp.domain.hashing import text_hash
from kbapp.domain.relevance import EvidenceProfile

HIGHLY_RELEVANT_SHARE = 0.03
"""Of the probes may reach HIGHLY_RELEVANT …"""

REFERENCE_SHARE = 0.2
"""… and REFERENCE."""

HIGHLY_RELEVANT_BOUNDS = (0.25, 1.5)
"""Log-odds. However little the probes reach, nothing below even odds is highly relevant; and a knowledge base that does
answer some of them must not be judged by those."""

REFERENCE_BOUNDS = (-3.5, -0.5)

MIN_CHUNKS = 50
"""A smaller knowledge base keeps the profile's own cuts: hardly any word of a probe stands in it."""

SKETCH_SIZE = 128
"""How many of the least chunk hashes are kept, to tell how much of a knowledge base is another one by now."""

SAME_SHARE = 0.8
"""Calibrated anew when less of the chunks of then and now together are the same: about a tenth was replaced."""


@dataclass(frozen=True, slots=True)
class LevelCuts:
    """The log-odds at which levels begin, and what they were found with.

    ``profile`` is the fingerprint of the model's profile, ``chunks`` how many there were then and ``sketch`` the least
    of their hashes, ``calibrated_at`` UTC in ISO 8601.
    """

    profile: str
    reference: float
    highly_relevant: float
    probes: int
    chunks: int
    sketch: tuple[str, ...]
    calibrated_at: str

    def fit(self, profile: EvidenceProfile) -> bool:
        """Whether they were made with this profile."""
        return self.profile == fingerprint(profile)

    def are_outdated(self, sketch: Sequence[str]) -> bool:
        """Whether the knowledge base of this sketch is not the one any more that they were found in."""
        return alike(self.sketch, sketch) < SAME_SHARE

    def applied_to(self, profile: EvidenceProfile) -> EvidenceProfile:
        """The profile with these cuts in place of its own."""
        return replace(profile, reference_logit=self.reference, highly_relevant_logit=self.highly_relevant)

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self))


@lru_cache(maxsize=8)
def read_cuts(stored: str | None) -> LevelCuts | None:
    """Stored cuts; None when there are none, or they are of another version."""
    try:
        values = json.loads(stored) if stored else {}
        return LevelCuts(
            profile=str(values["profile"]),
            reference=float(values["reference"]),
            highly_relevant=float(values["highly_relevant"]),
            probes=int(values["probes"]),
            chunks=int(values["chunks"]),
            sketch=tuple(map(str, values["sketch"])),
            calibrated_at=str(values["calibrated_at"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def alike(first: Sequence[str], second: Sequence[str]) -> float:
    """Estimated share of what two sets hold in common, 0 … 1, from the least hashes of each (Broder 1997)."""
    least = sorted({*first, *second})[:SKETCH_SIZE]
    common = {*first} & {*second}
    return sum(each in common for each in least) / len(least) if least else 1.0


def fingerprint(profile: EvidenceProfile) -> str:
    """Tells profiles apart, whatever their name."""
    return text_hash(repr(profile))[:16]


def cuts_of(scores: Sequence[float]) -> tuple[float, float]:
    """The log-odds at which REFERENCE and HIGHLY_RELEVANT begin, from the probes' best ones (−∞: nothing was found).

    Raises:
        ValueError: there is no score.
    """
    ranked = sorted(scores, reverse=True)
    if not ranked:
        raise ValueError("no probe was scored")
    reference = _clamped(_reached_by(ranked, REFERENCE_SHARE), REFERENCE_BOUNDS)
    return reference, _clamped(_reached_by(ranked, HIGHLY_RELEVANT_SHARE), HIGHLY_RELEVANT_BOUNDS)


def _reached_by(ranked: Sequence[float], share: float) -> float:
    """The least score that at most this share of the probes reaches."""
    allowed = math.floor(share * len(ranked))
    return math.nextafter(ranked[min(allowed, len(ranked) - 1)], math.inf)


def _clamped(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])
