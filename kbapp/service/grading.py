"""What levels are computed with now: the model's profile and the two thresholds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.level_cuts import LevelCuts, read_cuts
from kbapp.domain.ports import SettingsFile
from kbapp.domain.relevance import EvidenceProfile, RelevanceProfile, Thresholds

REFERENCE_SETTING = "retrieval.normalization.reference-threshold"
HIGHLY_RELEVANT_SETTING = "retrieval.normalization.highly-relevant-threshold"


@dataclass(frozen=True, slots=True)
class Grading:
    """A profile and thresholds that belong together: those of one lookup."""

    profile: RelevanceProfile
    thresholds: Thresholds


class GradingInForce:
    """The grading of the next lookup, with the cuts that any process found for this knowledge base. Thread-safe."""

    def __init__(
        self,
        profile: RelevanceProfile,
        thresholds: Thresholds,
        settings: SettingsFile,
        stored_cuts: Callable[[], str | None],
    ) -> None:
        self._lock = threading.Lock()
        self._grading = Grading(profile, thresholds)
        self._settings = settings
        self._stored_cuts = stored_cuts

    def now(self) -> Grading:
        """The profile and the thresholds in force."""
        with self._lock:
            grading = self._grading
        cuts = self.cuts()
        if cuts is None or not isinstance(grading.profile, EvidenceProfile):
            return grading
        return replace(grading, profile=cuts.applied_to(grading.profile))

    @property
    def has_own_profile(self) -> bool:
        """Whether the profile was made by labels of this knowledge base."""
        profile = self._grading.profile
        return isinstance(profile, EvidenceProfile) and profile.has_own_cuts

    def cuts(self) -> LevelCuts | None:
        """Where levels begin in this knowledge base; None: where the model's profile says."""
        profile = self._grading.profile
        if not isinstance(profile, EvidenceProfile) or profile.has_own_cuts:
            return None
        try:
            cuts = read_cuts(self._stored_cuts())
        except IndexUnavailable:
            return None
        return cuts if cuts and cuts.fit(profile) else None

    def apply_thresholds(self, *, reference: float, highly_relevant: float) -> Path:
        """Write them to the settings file and judge by them from now on; returns the file.

        Raises:
            UserError: they are not in order within 0 … 1, or the file cannot be written; nothing has changed then.
        """
        if not 0 <= reference <= highly_relevant <= 1:
            raise UserError(
                f"thresholds {reference:g} (REFERENCE) and {highly_relevant:g} (HIGHLY_RELEVANT) are not usable:"
                " both must lie between 0 and 1, and the first must not be above the second"
            )
        with self._lock:
            self._settings.write({REFERENCE_SETTING: reference, HIGHLY_RELEVANT_SETTING: highly_relevant})
            thresholds = replace(self._grading.thresholds, reference=reference, highly_relevant=highly_relevant)
            self._grading = replace(self._grading, thresholds=thresholds)
            return self._settings.path
