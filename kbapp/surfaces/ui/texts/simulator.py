"""Words of the page simulator."""

TEXTS: dict[str, tuple[str, str]] = {}
