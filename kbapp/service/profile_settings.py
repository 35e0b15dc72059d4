"""A relevance profile as the settings of the next start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from kbapp.domain.relevance import EvidenceProfile

GROUP = "retrieval.profile"

_NOT_SET = ("name", "provisional", "has_own_cuts")  # they follow from the model, and from being set


def profile_settings(model_id: str, profile: EvidenceProfile) -> Mapping[str, float | str]:
    """Settings by dotted name, of a profile of this embedding model; a fusion weight of 0 stands for none."""
    values = {name: value or 0.0 for name, value in asdict(profile).items() if name not in _NOT_SET}
    named = {f"{GROUP}.{name.replace('_', '-')}": value for name, value in values.items()}
    return {f"{GROUP}.model": model_id, **named}
