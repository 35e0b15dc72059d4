"""Small knowledge bases for tests: files in a folder, real stores, the tiny embedder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.ports import Embedder
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings
from tests.embedding import TinyEmbedder


def write_documents(root: Path, documents: Mapping[str, str | bytes]) -> None:
    for path, text in documents.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))


def settings_for(tmp_path: Path, **overrides: str) -> Settings:
    """Settings with all folders under ``tmp_path``; in names ``__`` stands for a dot, ``_`` for a dash."""
    (tmp_path / "knowledge_base").mkdir(parents=True, exist_ok=True)
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in overrides.items()}
    folders = {"knowledge.base-path": str(tmp_path / "knowledge_base"), "state-dir": str(tmp_path / "state")}
    return Settings.load(environ={}, overrides=folders | named)


def open_for_test(tmp_path: Path, embedder: Embedder | None = None, **overrides: str) -> KnowledgeBase:
    return open_knowledge_base(settings_for(tmp_path, **overrides), embedder=embedder or TinyEmbedder())


def document(title: str, keywords: str, body: str, summary: str = "") -> str:
    return f"---\ntitle: {title}\nkeywords: [{keywords}]\nsummary: {summary}\n---\n\n# {title}\n\n{body}\n"


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything under a folder: bytes of files, None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
