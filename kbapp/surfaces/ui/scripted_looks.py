"""How the outcome of a step looks in a picture or a table: sign, colour and words; and why a step was not asked."""

from __future__ import annotations

from html import escape

from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.step_outcome import StepOutcome
from kbapp.domain.transcript import SkipKind, SkippedStep
from kbapp.surfaces.ui.levels import LOOKS, LevelLook
from kbapp.surfaces.ui.state import t

OUTCOME_LOOKS: dict[StepOutcome, LevelLook] = {
    StepOutcome.PRECISE: LOOKS[RelevanceLevel.PRECISE],
    StepOutcome.HIGHLY_RELEVANT: LOOKS[RelevanceLevel.HIGHLY_RELEVANT],
    StepOutcome.REFERENCE: LOOKS[RelevanceLevel.REFERENCE],
    StepOutcome.DEDUPED: LOOKS[RelevanceLevel.DEDUPED],
    StepOutcome.NOT_FOUND: LOOKS[None],
    StepOutcome.DEGRADED: LevelLook("outcome.degraded", "red", ":material/warning:"),
    StepOutcome.REFUSED: LevelLook("level.error", "red", ":material/block:"),
    StepOutcome.LEFT_OUT: LevelLook("outcome.left_out", "gray", ":material/skip_next:"),
}


def sign_html(outcome: StepOutcome) -> str:
    """The sign alone, for the eye; the words stand beside it."""
    name = OUTCOME_LOOKS[outcome].icon.removeprefix(":material/").removesuffix(":")
    return f'<span class="kb-sign" aria-hidden="true">{name}</span>'


def chip_html(outcome: StepOutcome) -> str:
    """Sign and word in the colour of the outcome."""
    name = escape(OUTCOME_LOOKS[outcome].name)
    return f'<span class="kb-chip kb-is-{outcome.name.lower()}">{sign_html(outcome)} {name}</span>'


def reason_of(step: SkippedStep) -> str:
    """Why a query was not looked up, in the language of the screen; not escaped."""
    cause = step.cause
    reason = step.reason.removeprefix(f"{SkipKind.REFUSED}: ")
    return t(f"skip.{cause.kind}", reason=reason, query=cause.query, domain=cause.domain)
