"""Words of the page knowledge_base."""

TEXTS: dict[str, tuple[str, str]] = {}
