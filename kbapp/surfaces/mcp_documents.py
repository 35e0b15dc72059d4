"""The documents that a session was given, by URI; of any other nothing is said, not even whether there is one (Q10)."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, unquote

from kbapp.domain.errors import UserError
from kbapp.service.knowledge_base import KnowledgeBase

_PREFIX = "kbapp://document/"


def document_uri(path: str) -> str:
    """The URI of a document by its path in the knowledge base."""
    return _PREFIX + quote(path)


def uri_template() -> str:
    """The URIs of documents, as RFC 6570 writes them."""
    return _PREFIX + "{+path}"


class SessionDocuments:
    """What a session may read. Thread-safe."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def paths(self, session: str | None) -> list[str]:
        """The documents whose text the session was given, in order of first retrieval; none without a session."""
        if not session:
            return []
        return [path for documents in self._kb.session(session).documents.values() for path in documents]

    def text(self, uri: str, session: str | None) -> str | None:
        """The text of a document by its path or its source; None: the session was not given it, or it is gone."""
        path = self._given_path(uri, session)
        if path is None:
            return None
        try:
            return self._kb.document(path).body
        except UserError:
            return None

    def _given_path(self, uri: str, session: str | None) -> str | None:
        """Looked for in the session's memory alone, so that the answer tells nothing of the files."""
        if not uri.startswith(_PREFIX):
            return None
        asked = unicodedata.normalize("NFC", unquote(uri.removeprefix(_PREFIX)))
        given = self.paths(session)
        wanted = (asked, asked.removeprefix(f"{self._kb.base_folder}/"))
        return next((path for path in wanted if path in given), None)
