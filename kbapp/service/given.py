"""What an answer gave, as JSON in the telemetry row and as a call in the session's memory (T2, T8)."""

from __future__ import annotations

from kbapp.domain.action_memory import CallOutcome, EarlierCall, GivenText
from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.answering import Answer


def given_details(answer: Answer) -> dict[str, JsonValue]:
    """``given``: what body text reached the executor (the text itself stands in ``result``); ``answer_domains``."""
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
    text = _text_in(details.get("result"))
    domains = details.get("answer_domains")
    return EarlierCall(
        invocation_id=row.id,
        created_at=row.created_at,
        query=row.query,
        missing_dimension=row.missing_dimension,
        domains=tuple(str(domain) for domain in domains) if isinstance(domains, list) else (),
        given=tuple(_given(each, text) for each in given if isinstance(each, dict)) if isinstance(given, list) else (),
        outcome=_outcome(row),
    )


def _outcome(row: Invocation) -> CallOutcome:
    if row.error is not None or row.relevance_level is RelevanceLevel.DEDUPED:
        return CallOutcome.WITHHELD
    if row.found:
        return CallOutcome.GIVEN
    # What an outage hides was not missed.
    return CallOutcome.MISSED if row.outcome is Outcome.NOT_FOUND else CallOutcome.WITHHELD


def _given(row: dict[str, JsonValue], text: str) -> GivenText:
    return GivenText(
        document=str(row["document"]),
        domain=str(row["domain"]),
        level=RelevanceLevel(str(row["level"])),
        document_hash=str(row["content_hash"]),
        text_hash=str(row["text_hash"]),
        part=_first(row["chunks"]),
        text=text,
    )


def _text_in(result: JsonValue) -> str:
    """The body text of a result: beside a supplement, primary holds metadata alone (Q2)."""
    parts = [result.get("supplement"), result.get("primary")] if isinstance(result, dict) else []
    return next((str(part["content"]) for part in parts if isinstance(part, dict)), "")


def _first(chunks: JsonValue) -> str:
    return str(chunks[0]) if isinstance(chunks, list) and chunks else ""
