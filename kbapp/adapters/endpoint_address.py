"""Addresses of servers that people set: plain ones, with no key or search part in them."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_plain_address(base_url: str) -> bool:
    """Whether it is an http or https address with a host, and nothing that a request would lose or leak."""
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        return False
    is_plain = base_url.isascii() and base_url.isprintable() and not set(base_url) & set(" @?#\\")
    return is_plain and parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0
