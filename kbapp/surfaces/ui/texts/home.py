"""Words of the page home."""

TEXTS: dict[str, tuple[str, str]] = {}
