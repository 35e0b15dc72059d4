"""Text of files and queries for a terminal or a log, which would obey what is written in it."""

from __future__ import annotations

import json
import logging
import re

# Control characters (some terminals take U+009B for ESC [), line separators, marks that reorder what a person reads,
# tags that nobody sees, lone surrogates. Line ends and tabs stay.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    r"""The text with such characters written out: ``\x1b``."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def plain_json(text: str) -> str:
    r"""JSON with such characters as JSON writes them, ``\u009b``: the same values."""
    return _OBEYED.sub(lambda match: json.dumps(match[0])[1:-1], text)


class PlainFormatter(logging.Formatter):
    """One line per message, whatever it holds; a traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The message, on one line."""
        return super().formatMessage(record).replace("\n", "\\n")

    def format(self, record: logging.LogRecord) -> str:
        """The message and what comes with it."""
        return plain(super().format(record))
