"""kbapp: a local knowledge base for agents, with two-stage retrieval, graded results and an action memory."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbapp.bootstrap import import_archive, open_knowledge_base
    from kbapp.domain.lookup_result import LookupResult
    from kbapp.domain.relevance import RelevanceLevel
    from kbapp.settings import Settings
    from kbapp.surfaces.tool import lookup_tool

__all__ = ["LookupResult", "RelevanceLevel", "Settings", "import_archive", "lookup_tool", "open_knowledge_base"]

_MODULES = {
    "LookupResult": "kbapp.domain.lookup_result",
    "RelevanceLevel": "kbapp.domain.relevance",
    "Settings": "kbapp.settings",
    "import_archive": "kbapp.bootstrap",
    "lookup_tool": "kbapp.surfaces.tool",
    "open_knowledge_base": "kbapp.bootstrap",
}


def __getattr__(name: str) -> object:
    """Import a public name at its first use: `import kbapp` itself stays light."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
