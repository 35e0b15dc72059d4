"""A calibration for people: the profile in force and the new one side by side, with counts and 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kbapp.domain.calibration import FOLDS, CalibrationFigures
from kbapp.domain.relevance import L1_LEVELS, RelevanceLevel
from kbapp.domain.retrieval_metrics import Rate
from kbapp.service.calibrating import Calibration, left_out_text
from kbapp.surfaces.cli_eval_text import rate_text, table


def calibration_text(calibration: Calibration, source: str) -> str:
    """What it was made from, the figures, and where levels begin."""
    profile = calibration.profile
    blocks = [
        list(_cases(calibration, source)),
        table(_rows(calibration.now, calibration.figures)),
        [
            f"log-odds at which levels begin: {RelevanceLevel.REFERENCE.value} {profile.reference_logit:.2f},"
            f" {RelevanceLevel.HIGHLY_RELEVANT.value} {profile.highly_relevant_logit:.2f}"
        ],
    ]
    return "\n\n".join("\n".join(block) for block in blocks)


def next_step_text(written: Path | None, file: Path, *, is_corpus: bool) -> str:
    """What became of the profile, and what to do next."""
    if written:
        return f"written to {written}: the next start judges by it; start an app or a server that runs again"
    if is_corpus:
        return "nothing is written for a --corpus: name its folder with --root instead, then --apply writes the profile"
    return f"nothing is written: the same command with --apply writes this profile to {file}"


def _cases(calibration: Calibration, source: str) -> Iterator[str]:
    counts = calibration.counts
    yield f"model {calibration.model}, {source}"
    yield f"in topic {counts['in_topic']}, a right document first {counts['right']}; off-topic {counts['off_topic']}"
    if calibration.left_out:
        yield f"marked calls that are left out: {left_out_text(calibration.left_out)}"


def _rows(now: CalibrationFigures, calibrated: CalibrationFigures) -> Iterator[tuple[str, str, str]]:
    yield "", "now", f"calibrated, {FOLDS}-fold"
    for name, before, after in _pairs(now, calibrated):
        yield name, rate_text(before), rate_text(after)


def _pairs(now: CalibrationFigures, calibrated: CalibrationFigures) -> Iterator[tuple[str, Rate, Rate]]:
    names = {level: level.value if level is L1_LEVELS[0] else f"{level.value} or better" for level in L1_LEVELS}
    for level in L1_LEVELS:
        yield f"right of {level.value}", now.precision[level], calibrated.precision[level]
    for level, name in names.items():
        yield f"in topic, right at {name}", now.recall[level], calibrated.recall[level]
    for level, name in names.items():
        yield f"error: off-topic at {name}", now.off_topic_passing[level], calibrated.off_topic_passing[level]
    yield "error: right, but not given", now.in_topic_lost, calibrated.in_topic_lost
