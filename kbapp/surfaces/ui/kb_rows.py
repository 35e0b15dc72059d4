"""The documents of the table: which of them pass the filters, and their words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kbapp.domain.documents import DocumentRecord, DocumentStatus, KnowledgeEntry, domain_of

SIGNS = {DocumentStatus.INDEXED: "✓", DocumentStatus.PENDING: "◌", DocumentStatus.FAILED: "✗"}


@dataclass(frozen=True, slots=True)
class Row:
    """A document as the table shows it; ``problem`` is its error or its warning."""

    record: DocumentRecord
    domain: str
    keywords: tuple[str, ...]
    problem: str
    changed: datetime


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Every word of ``text`` stands in title, path or keywords; no domain or no status means all."""

    text: str = ""
    domains: tuple[str, ...] = ()
    statuses: tuple[DocumentStatus, ...] = ()


def rows_of(records: Iterable[DocumentRecord], entries: Iterable[KnowledgeEntry]) -> tuple[Row, ...]:
    """The documents in the order of their paths; keywords are those that L0 looks for."""
    by_path = {entry.path: entry for entry in entries}
    return tuple(_row(record, by_path) for record in records)


def matching(rows: Sequence[Row], wanted: RowFilter) -> tuple[Row, ...]:
    """The rows that pass the filter, in order."""
    words = _folded(wanted.text).split()
    return tuple(
        row
        for row in rows
        if (not wanted.domains or row.domain in wanted.domains)
        and (not wanted.statuses or row.record.status in wanted.statuses)
        and (not words or _holds(row, words))
    )


def reason(path: str, problem: str) -> str:
    """A problem with the document that it is of; most sentences name it themselves."""
    return problem if path in problem else f"{path}: {problem}"


def domains_of(rows: Iterable[Row]) -> list[str]:
    """The domains that documents are in, by name."""
    return sorted({row.domain for row in rows})


def _row(record: DocumentRecord, entries: Mapping[str, KnowledgeEntry]) -> Row:
    entry = entries.get(record.path)
    changed = datetime.fromisoformat(record.updated_at).astimezone(UTC)
    problem = record.error or record.warning or ""
    return Row(record, domain_of(record.path), entry.keywords if entry else (), problem, changed)


def _holds(row: Row, words: Sequence[str]) -> bool:
    text = _folded("\n".join([row.record.title, row.record.path, *row.keywords]))
    return all(word in text for word in words)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
