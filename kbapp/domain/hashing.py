"""Content hashes: SHA-256, in hex."""

from __future__ import annotations

import hashlib


def sha256_hex(data: bytes) -> str:
    """The hash of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def text_hash(text: str) -> str:
    """The hash of a text as UTF-8."""
    return sha256_hex(text.encode("utf-8", "surrogatepass"))
