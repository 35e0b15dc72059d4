"""The app of the tests of its pages."""

from __future__ import annotations

from tests.surfaces.ui.conftest import app, knowledge_base

__all__ = ["app", "knowledge_base"]
