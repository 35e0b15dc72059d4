"""The relevance profile of each embedding model (G5)."""

from __future__ import annotations

import logging

from kbapp.domain.relevance import DistanceProfile, EvidenceProfile, RelevanceProfile

logger = logging.getLogger("kbapp")

BGE_M3 = DistanceProfile("bge-m3", provisional=False)

# Both by benchmarks/fit_profiles.py from the sample knowledge base and its 172 labelled queries (G5).
E5_SMALL = EvidenceProfile(
    "multilingual-e5-small",
    provisional=True,
    bias=-21.38,
    cosine_weight=22.61,
    coverage_weight=8.56,
    unknown_weight=-4.10,
    reference_logit=-1.23,
    highly_relevant_logit=0.0,
)
USE_MULTILINGUAL = EvidenceProfile(
    "use-multilingual",
    provisional=True,
    bias=-3.07,
    cosine_weight=4.99,
    coverage_weight=8.13,
    unknown_weight=-4.55,
    reference_logit=-1.57,
    highly_relevant_logit=0.0,
)


def profile_for(model_id: str) -> RelevanceProfile:
    """The profile of a model; an unknown model gets G1's formula and a warning."""
    name = model_id.rsplit(":", 1)[-1].rsplit("/", 1)[-1].lower()
    for known in (E5_SMALL, USE_MULTILINGUAL, BGE_M3):
        if known.name == name:
            return known
    logger.warning("no relevance profile for the model %s: levels follow the distance alone, uncalibrated", model_id)
    return DistanceProfile(model_id, provisional=True)
