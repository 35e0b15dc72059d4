"""What levels are computed with now: the model's profile and the two thresholds."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path

from kbapp.domain.errors import UserError
from kbapp.domain.ports import SettingsFile
from kbapp.domain.relevance import RelevanceProfile, Thresholds

REFERENCE_SETTING = "retrieval.normalization.reference-threshold"
HIGHLY_RELEVANT_SETTING = "retrieval.normalization.highly-relevant-threshold"


@dataclass(frozen=True, slots=True)
class Grading:
    """A profile and thresholds that belong together: those of one lookup."""

    profile: RelevanceProfile
    thresholds: Thresholds


class GradingInForce:
    """The grading of the next lookup. Thread-safe."""

    def __init__(self, profile: RelevanceProfile, thresholds: Thresholds, settings: SettingsFile) -> None:
        self._lock = threading.Lock()
        self._grading = Grading(profile, thresholds)
        self._settings = settings

    def now(self) -> Grading:
        """The profile and the thresholds in force."""
        with self._lock:
            return self._grading

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
