"""The relevance profile of each embedding model (G5)."""

from __future__ import annotations

import logging

from kbapp.domain.relevance import DistanceProfile, EvidenceProfile, RelevanceProfile

logger = logging.getLogger("kbapp")

BGE_M3 = DistanceProfile("bge-m3", provisional=False)

# Both by benchmarks/fit_profiles.py, from two labelled knowledge bases (G5), thresholds rounded.
E5_SMALL = EvidenceProfile(
    "multilingual-e5-small",
    provisional=False,
    bias=-23.69,
    cosine_weight=23.43,
    coverage_weight=6.17,
    unknown_weight=-0.79,
    found_weight=1.07,
    runs_weight=0.95,
    agreement_weight=0.94,
    reference_logit=-1.0,
    highly_relevant_logit=0.5,
    fusion_weight=2.5,
)
USE_MULTILINGUAL = EvidenceProfile(
    "use-multilingual",
    provisional=True,
    bias=-4.07,
    cosine_weight=1.85,
    coverage_weight=5.79,
    unknown_weight=-0.8,
    found_weight=1.66,
    runs_weight=0.0,
    agreement_weight=1.0,
    reference_logit=-1.3,
    highly_relevant_logit=-0.1,
    fusion_weight=0.5,
)


def profile_for(model_id: str) -> RelevanceProfile:
    """The shipped profile of a model; an unknown model gets G1's formula and a warning."""
    shipped = _shipped(model_id)
    if shipped:
        return shipped
    logger.warning("no relevance profile for the model %s: levels follow the distance alone, uncalibrated", model_id)
    return DistanceProfile(model_id, provisional=True)


def profile_name(model_id: str) -> str:
    """What every profile of this model is called, whoever made it."""
    shipped = _shipped(model_id)
    return shipped.name if shipped else model_id


def is_calibrated_for(profile_model: str, model_id: str) -> bool:
    """Whether the profile in the settings (no model: there is none) is of this model; one of another is warned of."""
    if profile_model and profile_model != model_id:
        logger.warning(
            "retrieval.profile is of the model %s and left out: the model is %s now, and `kbapp calibrate FILE --apply`"
            " makes its profile",
            profile_model,
            model_id,
        )
    return profile_model == model_id


def _shipped(model_id: str) -> RelevanceProfile | None:
    name = model_id.rsplit(":", 1)[-1].rsplit("/", 1)[-1].lower()
    return next((known for known in (E5_SMALL, USE_MULTILINGUAL, BGE_M3) if known.name == name), None)
