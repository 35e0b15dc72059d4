"""“Why this level”: the decision, the keywords that matched, the similarities against the thresholds; from the row."""

from __future__ import annotations

from html import escape

import streamlit as st

from kbapp.domain.explanation import explain
from kbapp.domain.invocation import Invocation
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from kbapp.domain.row_evidence import GradedCandidate, RowEvidence, row_evidence
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import language, t
from kbapp.surfaces.ui.texts import Language

_COLOURS = {
    RelevanceLevel.HIGHLY_RELEVANT: "kb-bar-high",
    RelevanceLevel.REFERENCE: "kb-bar-reference",
    None: "kb-bar-none",
}


def render_why(call: Invocation) -> None:
    """The decision in one sentence, and what it rests on."""
    in_chinese = language() is Language.CHINESE
    explanation = explain(call, HintLanguage.ZH if in_chinese else HintLanguage.EN)
    st.markdown(f"**{plain(explanation.decision)}**")
    evidence = row_evidence(call.retrieval_details)
    if evidence is None:
        return
    if explanation.recomputed_level:
        st.caption(t("why.recomputed", level=explanation.recomputed_level))
    _render_keywords(evidence)
    if evidence.candidates:
        _render_candidates(evidence)
        _render_profile(evidence)
    elif not call.l1_called:
        st.caption(t("why.no_l1"))


def _render_keywords(evidence: RowEvidence) -> None:
    st.markdown(f"### {t('why.keywords')}")
    if not evidence.matches:
        st.caption(t("why.no_keywords"))
        return
    rows = [
        {
            t("why.document"): match.document,
            t("why.matched"): " · ".join(match.keywords) or match.document,
            t("why.tier"): t(f"tier.{match.tier}"),
            t("why.coverage"): f"{match.coverage:.0%}",
        }
        for match in evidence.matches
    ]
    st.dataframe(rows, hide_index=True, alt=t("why.keywords"))
    st.caption(t("why.coverage_note", bound=f"{evidence.min_coverage:.0%}"))


def _render_candidates(evidence: RowEvidence) -> None:
    st.markdown(f"### {t('why.similarities')}")
    rows = "".join(_bar(candidate, evidence) for candidate in evidence.candidates)
    st.html(f'<div class="kb-bars" role="list">{rows}</div>')
    thresholds = evidence.thresholds
    st.caption(t("why.thresholds", reference=thresholds.reference, highly=thresholds.highly_relevant))


def _bar(candidate: GradedCandidate, evidence: RowEvidence) -> str:
    level = candidate.level(evidence)
    legs = {"vector": t("why.vector"), "full text": t("why.full_text")}
    ranks = " · ".join(f"{legs[leg]} #{rank}" for leg, rank in candidate.ranks if rank)
    found = candidate.evidence
    figures = t(
        "why.figures",
        cosine="–" if found.cosine is None else f"{found.cosine:.3f}",
        distance="–" if found.distance is None else f"{found.distance:.3f}",
        coverage=f"{found.coverage:.0%}",
        terms=found.found_terms,
        runs=found.found_runs,
    )
    thresholds = evidence.thresholds
    ticks = "".join(
        f'<span class="kb-tick" style="left:{bound * 100:.1f}%"></span>'
        for bound in (thresholds.reference, thresholds.highly_relevant)
    )
    name = level.value if level else t("why.below")
    given = candidate is evidence.decisive
    fill = f'<span class="kb-fill {_COLOURS[level]}" style="width:{candidate.similarity * 100:.1f}%"></span>'
    return (
        f'<div role="listitem" class="kb-row"><div class="kb-row-name">{"▸ " if given else ""}'
        f"{escape(candidate.breadcrumb)} <small>{escape(candidate.document)}</small></div>"
        f'<div class="kb-track">{fill}{ticks}</div>'
        f'<div class="kb-row-value"><b>{candidate.similarity:.3f}</b> {escape(name)}</div>'
        f"<small>{escape(figures)}{' · ' if ranks else ''}{escape(ranks)}</small></div>"
    )


def _render_profile(evidence: RowEvidence) -> None:
    profile = evidence.profile
    note = t("why.provisional") if profile.provisional else ""
    st.caption(t("why.profile", name=plain(profile.name), note=note))
