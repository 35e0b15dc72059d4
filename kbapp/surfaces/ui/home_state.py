"""Home: the state at a glance, and what to act on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import streamlit as st

from kbapp.domain.circuit_breaker import BreakerKind, SourceState
from kbapp.domain.health import Engine
from kbapp.service.follower import FollowStatus
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.overview import DomainState, Notice, NoticeKind, Overview, ProfileKind
from kbapp.surfaces.ui.context import Page, errors_as_sentences
from kbapp.surfaces.ui.home_examples import is_sample
from kbapp.surfaces.ui.quoted import code, plain
from kbapp.surfaces.ui.state import t

STYLE_SHEET = Path(__file__).with_name("home.css")
MAX_DOMAINS = 12
MAX_DOCUMENTS = 5  # named in a notice
REFRESH_SECONDS = 5.0
REFRESH_WHILE_INDEXING_SECONDS = 1.5

_SEVERE = frozenset({NoticeKind.DATABASE, NoticeKind.ENGINE, NoticeKind.PAUSED, NoticeKind.FAILED})
_OF_DOCUMENTS = frozenset({NoticeKind.FAILED, NoticeKind.FRONTMATTER})
_UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def render_state(kb: KnowledgeBase) -> None:
    """The figures, what is at work, what to act on; kept up to date by itself."""
    following = kb.following
    is_busy = following.indexing is not None or not following.scans
    seconds = REFRESH_WHILE_INDEXING_SECONDS if is_busy else REFRESH_SECONDS
    st.html(STYLE_SHEET)
    st.header(t("home.state"), anchor=False)
    st.fragment(_render_live, run_every=seconds)(kb)


def _render_live(kb: KnowledgeBase) -> None:
    with errors_as_sentences():
        overview = kb.overview()
        _render_figures(overview)
        with st.container(key="home_cards"):
            left, right = st.columns(2)
        with left, st.container(border=True, height="stretch"):
            _render_domains(overview.domains)
        with right, st.container(border=True, height="stretch"):
            _render_inside(overview)
        _render_sources(kb, overview.sources)
        _render_notices(overview.notices)


def render_first_steps(kb: KnowledgeBase) -> None:
    """For who has no documents of their own yet: how to put some."""
    entries = kb.entries()
    if is_sample(entries):
        st.info(t("home.sample"), icon=":material/storefront:")
    elif not entries and not kb.overview().documents:
        st.info(t("home.empty", folder=code(kb.base_folder)), icon=":material/note_add:")
    else:
        return
    st.page_link(Page.KNOWLEDGE_BASE.value, label=t("home.upload"), icon=":material/upload_file:")


def _render_figures(overview: Overview) -> None:
    figures = [
        ("home.documents", overview.documents, _documents_note(overview)),
        ("home.chunks", overview.chunks, t("home.chunks_note")),
        ("home.entries", overview.entries, t("home.entries_note")),
        ("home.domains_count", len(overview.domains), t("home.domains_note")),
    ]
    with st.container(key="home_figures"):
        columns = st.columns(len(figures))
    for column, (key, figure, note) in zip(columns, figures, strict=True):
        with column, st.container(border=True, gap=None, height="stretch"):
            st.metric(t(key), figure)
            st.caption(note)


def _documents_note(overview: Overview) -> str:
    parts = []
    if overview.pending:
        parts.append(f":material/hourglass_top: {t('home.documents_pending', pending=overview.pending)}")
    if overview.failed:
        parts.append(f":material/error: {t('home.documents_failed', failed=overview.failed)}")
    return " · ".join(parts) or t("home.documents_ready")


def _render_domains(domains: Sequence[DomainState]) -> None:
    st.markdown(f"**{t('home.by_domain')}**")
    shown = domains[:MAX_DOMAINS]
    most = max((domain.documents for domain in shown), default=1)
    rows = "".join(_domain_row(domain, most) for domain in shown)
    st.html(f'<div role="list">{rows}</div>')
    if len(domains) > len(shown):
        st.caption(t("home.more_domains", count=len(domains) - len(shown)))


def _domain_row(domain: DomainState, most: int) -> str:
    share = 100 * domain.documents / most
    waiting = t("home.documents_pending", pending=domain.pending) if domain.pending else ""
    failed = t("home.documents_failed", failed=domain.failed) if domain.failed else ""
    below = "".join(f"<br><small>{escape(note)}</small>" for note in (waiting, failed) if note)
    return (
        f'<div role="listitem" class="kb-domain"><span>{escape(domain.name)}{below}</span>'
        f'<div class="kb-track"><div class="kb-fill" style="width:{share:.0f}%"></div></div>'
        f"<b>{domain.documents}</b></div>"
    )


def _render_inside(overview: Overview) -> None:
    thresholds = overview.thresholds
    levels = t("home.thresholds_value", high=thresholds.highly_relevant, low=thresholds.reference)
    st.markdown(f"**{t('home.inside')}**")
    _fact(t("home.model"), plain(overview.model), _profile_text(overview))
    _fact(t("home.thresholds"), levels)
    in_memory = overview.in_memory
    searched = "" if in_memory is None else t("home.engine.in_memory", count=f"{in_memory:,}")
    _fact(t("home.engine"), engine_text(overview.engine), searched)
    _fact(t("home.watcher"), _watcher_text(overview.following))


def _render_sources(kb: KnowledgeBase, sources: Sequence[SourceState]) -> None:
    """The breakers of the retrieval, each with a switch to show what a lookup does without its source."""
    with st.container(border=True):
        st.markdown(f"**{t('home.sources')}**")
        st.caption(t("home.sources_note"))
        for source in sources:
            left, right = st.columns([3, 1], vertical_alignment="center")
            with left:
                _fact(t(f"home.source.{source.name}"), source_text(source))
            key = f"home_source_{source.name}"
            st.session_state[key] = source.is_forced
            right.toggle(t("home.switch_off"), key=key, on_change=_switch, args=(kb, source.name, key))


def _switch(kb: KnowledgeBase, name: str, key: str) -> None:
    kb.switch_source(name, is_on=not st.session_state[key])


def source_text(source: SourceState) -> str:
    """The state of a breaker with sign and word, and why."""
    if source.is_forced:
        return f":orange[:material/power_off:] {t('home.breaker.forced')}"
    signs = {
        BreakerKind.CLOSED: ":green[:material/check_circle:]",
        BreakerKind.OPEN: ":red[:material/pause_circle:]",
        BreakerKind.HALF_OPEN: ":orange[:material/sync:]",
    }
    calls, failures = source.calls, source.failures
    words = t(f"home.breaker.{source.kind}", retry=f"{source.retry_seconds or 0:.0f}", calls=calls, failures=failures)
    return f"{signs[source.kind]} {words}"


def _fact(name: str, value: str, note: str = "") -> None:
    with st.container(gap=None):
        st.caption(name)
        st.markdown(value)
        if note:
            st.caption(note)


def _profile_text(overview: Overview) -> str:
    profile, cuts = overview.profile, overview.level_cuts
    sign = ":material/verified:" if profile is ProfileKind.CALIBRATED else ":material/straighten:"
    words = t(f"home.profile.{profile}")
    if cuts:
        words = t("home.profile.probes", count=cuts.probes, day=cuts.calibrated_at[:10])
    return f"{sign} {words}"


def engine_text(engine: Engine | None) -> str:
    """The engine's role with sign and word."""
    if engine is None:
        return f":gray[:material/hourglass_empty:] {t('home.engine.none')}"
    signs = {
        "owner": ":green[:material/check_circle:]",
        "attached": ":green[:material/link:]",
        "remote": ":green[:material/cloud_done:]",
        "unavailable": ":red[:material/error:]",
    }
    words = t(f"home.engine.{engine.role}", pid=engine.owner_pid or "?", uri=plain(engine.uri or ""))
    return f"{signs[engine.role]} {words}"


def _watcher_text(following: FollowStatus) -> str:
    signs = {
        "events": ":green[:material/visibility:]",
        "polling": ":orange[:material/sync_problem:]",
        "off": ":gray[:material/hourglass_empty:]",
    }
    last = following.last_scan
    scan = t("home.last_scan", age=age_text(last, datetime.now(UTC))) if last else t("home.first_scan")
    mode = f"{signs[following.mode]} {t(f'home.watcher.{following.mode}')}"
    return f"{mode} · {scan}"


def age_text(moment: str, now: datetime) -> str:
    """How long ago a time (UTC, ISO 8601) was, in the largest unit that fits."""
    seconds = (now - datetime.fromisoformat(moment)).total_seconds()
    for unit, size in _UNITS:
        if seconds >= max(size, 2):
            return t(f"home.age.{unit}", count=int(seconds // size))
    return t("home.age.now")


def _render_notices(notices: Sequence[Notice]) -> None:
    st.markdown(f"**{t('home.notices')}**")
    if not notices:
        st.success(t("home.all_well"), icon=":material/check_circle:")
    for notice in notices:
        _render_notice(notice)


def _render_notice(notice: Notice) -> None:
    show = st.error if notice.kind in _SEVERE else st.warning
    headline = t(f"home.notice.{notice.kind}", count=notice.count)
    detail = f"\n\n{plain(notice.detail)}" if notice.detail else ""
    named = "".join(f"\n- {plain(problem.path)}: {plain(problem.error)}" for problem in notice.problems[:MAX_DOCUMENTS])
    more = len(notice.problems) - MAX_DOCUMENTS
    rest = f"\n- {t('home.more_documents', count=more)}" if more > 0 else ""
    show(f"**{headline}**{detail}\n{named}{rest}\n\n{t(f'home.way.{notice.kind}')}", icon=":material/warning:")
    if notice.kind in _OF_DOCUMENTS:
        st.page_link(Page.KNOWLEDGE_BASE.value, label=t("home.open_knowledge_base"), icon=":material/library_books:")
