"""The relevance profile of each embedding model (G5)."""

from __future__ import annotations

import logging

from kbapp.domain.relevance import DistanceProfile, EvidenceProfile, RelevanceProfile

logger = logging.getLogger("kbapp")

BGE_M3 = DistanceProfile("bge-m3", provisional=False)

# By benchmarks/fit_profiles.py, E5 on two labelled knowledge bases, USE on three; benchmarks/quality.md says what they
# are worth on one that was not looked at. The two logits are for a knowledge base of less than 50 texts: the others are
# calibrated by probe queries (level_cuts).
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
    provisional=False,
    bias=-3.95,
    cosine_weight=3.94,
    coverage_weight=6.02,
    unknown_weight=-0.57,
    found_weight=0.86,
    runs_weight=0.48,
    agreement_weight=0.69,
    reference_logit=-1.0,
    highly_relevant_logit=0.5,
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
