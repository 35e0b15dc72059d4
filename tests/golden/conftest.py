"""The sample knowledge base, embedded once by the real bundled model for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.bootstrap import open_knowledge_base
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sample_settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {
        "knowledge.base-path": str(ROOT / "knowledge_base"),
        "state-dir": str(tmp_path_factory.mktemp("sample")),
        "embedding.model": "bundled:multilingual-e5-small",
    }


@pytest.fixture(scope="session")
def kb(sample_settings: dict[str, str]) -> Iterator[KnowledgeBase]:
    with open_knowledge_base(Settings.load(environ={}, overrides=sample_settings)) as kb:
        kb.reindex()
        yield kb
