"""A profile of this knowledge base's own, from the settings (G5)."""

from __future__ import annotations

from dataclasses import replace

from kbapp.adapters.profiles import E5_SMALL
from kbapp.domain.level_cuts import LevelCuts, fingerprint
from kbapp.domain.relevance import EvidenceProfile, Thresholds
from kbapp.service.grading import GradingInForce
from tests.values import NoSettingsFile


def cuts_for(profile: EvidenceProfile) -> LevelCuts:
    """Cuts that probes found with this profile."""
    return LevelCuts(fingerprint(profile), reference=-3.0, highly_relevant=1.4, probes=4, chunks=1, calibrated_at="")


def test_g5_stored_cuts_of_probes_do_not_move_a_profile_that_has_its_own() -> None:
    own = replace(E5_SMALL, has_own_cuts=True)
    for profile, moved in ((own, own), (E5_SMALL, cuts_for(E5_SMALL).applied_to(E5_SMALL))):
        stored = cuts_for(profile).to_json()
        grading = GradingInForce(profile, Thresholds(), NoSettingsFile(), lambda stored=stored: stored)  # type: ignore[misc]
        assert grading.now().profile == moved
        assert (grading.cuts() is None) is profile.has_own_cuts
