"""A query as it comes into a query that the rest may see (Q11)."""

from __future__ import annotations

import unicodedata

from kbapp.domain.errors import UserError
from kbapp.domain.hashing import text_hash

MAX_SESSION_CHARACTERS = 200

_DROPPED = frozenset({"Cc", "Cf", "Cs"})  # control, format (zero width, bidi) and surrogate characters
_LINE_ENDS = frozenset({"Zl", "Zp"})


def clean_text(text: str) -> str:
    """The text without control and format characters, NUL and lone surrogates; white space becomes single spaces."""
    kept = (
        " " if character.isspace() else character
        for character in text
        if character.isspace() or unicodedata.category(character) not in _DROPPED
    )
    return " ".join("".join(kept).split())


def clean_query(text: str, max_characters: int) -> str:
    """The cleaned query.

    Raises:
        UserError: nothing is left of it, or it is longer than ``retrieval.query.max-characters``.
    """
    query = clean_text(text)
    if not query:
        raise UserError("the query is empty: say in a few words what you are looking for")
    if len(query) > max_characters:
        raise UserError(
            f"the query has {len(query)} characters, at most {max_characters} are allowed"
            " (retrieval.query.max-characters): ask for one thing in a few words"
        )
    return query


def clean_session_id(text: str | None) -> str | None:
    """A session id without control characters and line ends; blank is None; cleaning twice changes nothing more.

    Of an id longer than ``MAX_SESSION_CHARACTERS`` the beginning is kept, and a hash tells it from others.
    """
    dropped = _DROPPED | _LINE_ENDS
    session_id = "".join(character for character in text or "" if unicodedata.category(character) not in dropped)
    session_id = session_id.strip()
    if len(session_id) > MAX_SESSION_CHARACTERS:
        return f"{session_id[:180]}…{text_hash(session_id)[:16]}"
    return session_id or None
