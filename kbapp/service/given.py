"""What an answer gave, as JSON in the telemetry row and as a call in the session's memory (T2, T8)."""

from __future__ import annotations

from kbapp.domain.action_memory import CallOutcome, EarlierCall, GivenText
from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import Invocation
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.answering import Answer


def given_details(answer: Answer) -> dict[str, JsonValue]:
    """``given``: the body text that reached the executor; ``answer_domains``: the domains of this answer alone."""
    texts = [answer.given] if answer.given else []
    return {
        "given": [
            {
                "document": text.document,
                "chunks": [text.part],
                "domain": text.domain,
                "content_hash": text.document_hash,
                "level": text.level.value,
                "text_hash": text.text_hash,
                "text": text.text,
            }
            for text in texts
        ],
        "answer_domains": list(answer.domains),
    }


def call_of(invocation: Invocation, answer: Answer) -> EarlierCall:
    """The call as the session's memory keeps it."""
    return EarlierCall(
        invocation.id,
        invocation.created_at,
        invocation.query,
        invocation.missing_dimension,
        answer.domains,
        (answer.given,) if answer.given else (),
        _outcome(invocation),
    )


def call_of_row(row: Invocation) -> EarlierCall:
    """A call as the memory needs it, from its telemetry row alone."""
    details = row.retrieval_details
    given = details.get("given")
    domains = details.get("answer_domains")
    return EarlierCall(
        invocation_id=row.id,
        created_at=row.created_at,
        query=row.query,
        missing_dimension=row.missing_dimension,
        domains=tuple(str(domain) for domain in domains) if isinstance(domains, list) else (),
        given=tuple(_given(text) for text in given if isinstance(text, dict)) if isinstance(given, list) else (),
        outcome=_outcome(row),
    )


def _outcome(row: Invocation) -> CallOutcome:
    if row.error is not None or row.relevance_level is RelevanceLevel.DEDUPED:
        return CallOutcome.WITHHELD
    return CallOutcome.GIVEN if row.found else CallOutcome.MISSED


def _given(text: dict[str, JsonValue]) -> GivenText:
    return GivenText(
        document=str(text["document"]),
        domain=str(text["domain"]),
        level=RelevanceLevel(str(text["level"])),
        document_hash=str(text["content_hash"]),
        text_hash=str(text["text_hash"]),
        part=_first(text["chunks"]),
        text=str(text["text"]),
    )


def _first(chunks: JsonValue) -> str:
    return str(chunks[0]) if isinstance(chunks, list) and chunks else ""
