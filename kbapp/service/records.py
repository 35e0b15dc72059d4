"""The records of documents, new and under way."""

from __future__ import annotations

import secrets
from dataclasses import replace

from kbapp.domain.documents import Document, DocumentRecord, DocumentStatus
from kbapp.service.clock import now


def new_record(path: str) -> DocumentRecord:
    """The record of a document of which only the path is known."""
    created = now()
    return DocumentRecord(
        id=secrets.token_hex(6),
        path=path,
        title=path,
        metadata=None,
        content_hash="",
        status=DocumentStatus.PENDING,
        error=None,
        warning=None,
        chunk_count=0,
        indexed_hash=None,
        indexed_with=None,
        created_at=created,
        updated_at=created,
    )


def pending_record(record: DocumentRecord, document: Document) -> DocumentRecord:
    """The record while this version of its document is not in force yet (U3, U4)."""
    return replace(
        record,
        title=document.title,
        metadata=document.frontmatter.values if document.frontmatter else None,
        content_hash=document.content_hash,
        status=DocumentStatus.PENDING,
        error=None,
        warning=document.warning,
        updated_at=now(),
    )
