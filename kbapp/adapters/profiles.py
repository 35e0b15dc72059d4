"""The relevance profile of each embedding model (G5)."""

from __future__ import annotations

import logging

from kbapp.domain.relevance import DistanceProfile, EvidenceProfile, RelevanceProfile

logger = logging.getLogger("kbapp")

BGE_M3 = DistanceProfile("bge-m3", provisional=False)

E5_SMALL = EvidenceProfile(
    "multilingual-e5-small",
    provisional=True,
    bias=-30.0,
    cosine_weight=30.0,
    coverage_weight=6.0,
    reference_logit=-1.0,
    highly_relevant_logit=1.0,
)
USE_MULTILINGUAL = EvidenceProfile(
    "use-multilingual",
    provisional=True,
    bias=-6.0,
    cosine_weight=6.0,
    coverage_weight=6.0,
    reference_logit=-1.0,
    highly_relevant_logit=1.0,
)


def profile_for(model_id: str) -> RelevanceProfile:
    """The profile of a model; an unknown model gets G1's formula and a warning."""
    name = model_id.rsplit(":", 1)[-1].rsplit("/", 1)[-1].lower()
    for known in (E5_SMALL, USE_MULTILINGUAL, BGE_M3):
        if known.name == name:
            return known
    logger.warning("no relevance profile for the model %s: levels follow the distance alone, uncalibrated", model_id)
    return DistanceProfile(model_id, provisional=True)
