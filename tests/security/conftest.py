"""The app of the tests of its pages; the logging of a command ends with its test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.surfaces.ui.conftest import app, knowledge_base

__all__ = ["app", "knowledge_base", "logging_as_before"]


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command sets up the logging of its process, which is that of the tests."""
    root, ours = logging.getLogger(), logging.getLogger("kbapp")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
