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
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folders = {
        "knowledge.base-path": str(ROOT / "knowledge_base"),
        "state-dir": str(tmp_path_factory.mktemp("sample")),
        "embedding.model": "bundled:multilingual-e5-small",
    }
    with open_knowledge_base(Settings.load(environ={}, overrides=folders)) as kb:
        kb.reindex()
        yield kb
