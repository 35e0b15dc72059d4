"""Which calls the page is about: a form whose fields apply together, kept in the URL, so that it can be shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from kbapp.domain.invocation import TOOL_NAME, Outcome
from kbapp.domain.query import clean_session_id
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import InvocationFilter
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.levels import LOOKS
from kbapp.surfaces.ui.state import t

APPLIED = "telemetry_applied"
PERIOD = "telemetry_period"
SESSION = "telemetry_session"
LEVELS = "telemetry_levels"
OUTCOMES = "telemetry_outcomes"
_WRITTEN = "telemetry_written"
_PARAMETERS = ("period", "of", "levels", "outcomes")
_TAB_SESSION = "session"

Choice = TypeVar("Choice", bound=StrEnum)


class Period(StrEnum):
    """How far back."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    ALL = "all"


_SPANS = {Period.HOUR: timedelta(hours=1), Period.DAY: timedelta(days=1), Period.WEEK: timedelta(days=7)}


@dataclass(frozen=True, slots=True)
class CallFilter:
    """The fields of the form; empty means all."""

    period: Period = Period.ALL
    session: str | None = None
    levels: tuple[RelevanceLevel, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    def wanted(self, now: datetime, *, limit: int = 0, offset: int = 0) -> InvocationFilter:
        """The calls that pass at this moment."""
        span = _SPANS.get(self.period)
        since = (now - span).astimezone(UTC).isoformat(timespec="milliseconds") if span else None
        return InvocationFilter(self.session, self.levels, self.outcomes, since, limit, offset, TOOL_NAME)

    def parameters(self) -> dict[str, str]:
        """As parameters of the URL: the period always, so that this page knows its own URL."""
        values = (self.period.value, self.session or "", ",".join(self.levels), ",".join(self.outcomes))
        return {name: value for name, value in zip(_PARAMETERS, values, strict=True) if value}


def linked_filter(parameters: Mapping[str, str]) -> CallFilter | None:
    """What a URL asks for: by this page's parameters, or ``?session=…`` alone; what is not understood is ignored."""
    if any(name in parameters for name in _PARAMETERS):
        return CallFilter(
            next(iter(_known(parameters.get("period", ""), Period)), Period.ALL),
            clean_session_id(parameters.get("of")),
            _known(parameters.get("levels", ""), RelevanceLevel),
            _known(parameters.get("outcomes", ""), Outcome),
        )
    session = clean_session_id(parameters.get(_TAB_SESSION))
    return CallFilter(session=session) if session else None


def adopt_url() -> None:
    """Follow a link to this page. To be called before the page writes the tab's own session into the URL."""
    parameters = dict(st.query_params)
    own = {name: parameters[name] for name in _PARAMETERS if name in parameters}
    is_arrival = APPLIED not in st.session_state
    if is_arrival or (own and own != st.session_state.get(_WRITTEN)):
        apply(linked_filter(parameters) or CallFilter())


def apply(chosen: CallFilter) -> None:
    """Let the page be about these calls, and show so in the form."""
    st.session_state[APPLIED] = chosen
    st.session_state[PERIOD] = chosen.period
    st.session_state[SESSION] = chosen.session
    st.session_state[LEVELS] = list(chosen.levels)
    st.session_state[OUTCOMES] = list(chosen.outcomes)


def render_filter(kb: KnowledgeBase) -> CallFilter:
    """The form; what was applied last."""
    applied: CallFilter = st.session_state[APPLIED]
    if PERIOD not in st.session_state:  # a widget loses its value on a page change
        apply(applied)
    with st.form("telemetry_filter"):
        _render_fields(_sessions(kb, applied))
        with st.container(horizontal=True, gap="small"):
            st.form_submit_button(
                t("telemetry.apply"),
                type="primary",
                icon=":material/filter_alt:",
                on_click=_apply_form,
                key="telemetry_apply",
            )
            st.form_submit_button(
                t("telemetry.reset"),
                icon=":material/filter_alt_off:",
                on_click=apply,
                args=(CallFilter(),),
                key="telemetry_reset",
            )
    _keep_in_url(applied)
    return applied


def local_zone() -> tzinfo:
    """The clock of the browser, as far as it tells."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def local_text(created_at: str) -> str:
    """A time of the telemetry (UTC, ISO 8601) on the clock of the browser."""
    return f"{datetime.fromisoformat(created_at).astimezone(local_zone()):%Y-%m-%d %H:%M:%S}"


def outcome_name(outcome: Outcome) -> str:
    """An outcome in the language of the screen."""
    return t(f"telemetry.outcome_{outcome.value}")


def _render_fields(sessions: list[str]) -> None:
    with st.container(key="telemetry_fields"):
        period, session, levels, outcomes = st.columns(4)
    period.selectbox(
        t("telemetry.period"), list(Period), format_func=lambda each: t(f"telemetry.period_{each.value}"), key=PERIOD
    )
    session.selectbox(
        t("telemetry.session"),
        sessions,
        accept_new_options=True,
        index=None,
        placeholder=t("telemetry.session_all"),
        key=SESSION,
    )
    levels.multiselect(
        t("telemetry.levels"),
        list(RelevanceLevel),
        format_func=lambda level: LOOKS[level].name,
        placeholder=t("telemetry.any"),
        key=LEVELS,
    )
    outcomes.multiselect(
        t("telemetry.outcomes"),
        list(Outcome),
        format_func=outcome_name,
        placeholder=t("telemetry.any"),
        key=OUTCOMES,
    )


def _sessions(kb: KnowledgeBase, applied: CallFilter) -> list[str]:
    recent = kb.recent_sessions()
    return recent if applied.session is None or applied.session in recent else [applied.session, *recent]


def _apply_form() -> None:
    values = st.session_state
    chosen = CallFilter(
        Period(values[PERIOD]),
        clean_session_id(values[SESSION]),
        tuple(RelevanceLevel(level) for level in values[LEVELS]),
        tuple(Outcome(outcome) for outcome in values[OUTCOMES]),
    )
    apply(chosen)


def _keep_in_url(applied: CallFilter) -> None:
    wanted = applied.parameters()
    if wanted == st.session_state.get(_WRITTEN) and all(st.query_params.get(name) for name in wanted):
        return
    for name in _PARAMETERS:
        if name in wanted:
            st.query_params[name] = wanted[name]
        else:
            st.query_params.pop(name, None)
    st.session_state[_WRITTEN] = wanted


def _known(text: str, kind: type[Choice]) -> tuple[Choice, ...]:
    names = text.split(",")
    return tuple(choice for choice in kind if choice.value in names)
