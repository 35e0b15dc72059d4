"""Documents that one keyword and one sentence alone find, an embedder that refuses some, and random changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Vectors
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document

POISON = "有毒"
MAX_DOCUMENTS = 12
FOLDERS = ("", "api", "运维/深层", "ops")

Say = Callable[..., None]


class RefusingEmbedder(TinyEmbedder):
    """Refuses every text that holds the poison."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if any(POISON in text for text in texts):
            raise IndexUnavailable("the model refuses this text")
        return super().embed_passages(texts)


def keyword(marker: str) -> str:
    return f"KEY_{marker}"


def unique_text(marker: str, words: str = "") -> str:
    return document(
        f"标题 {marker}", keyword(marker), f"## 一 {marker}\n\n{marker} 第一段 {words}\n\n## 二\n\n{marker} 第二段"
    )


class Changes:
    """Random changes to files and documents, some of them by upload and delete; says what it does and what is done."""

    def __init__(self, root: Path, seed: int, say: Say) -> None:
        self._root = root
        self._some = random.Random(seed)
        self._say = say
        self._seed = seed
        self._count = 0

    def make(self, kb: KnowledgeBase) -> None:
        changes = [self._write, self._write, self._edit, self._shift, self._rename, self._remove, self._rename_folder]
        self._some.choice([*changes, self._upload, self._upload, self._delete, self._refresh, self._refresh])(kb)

    def _text(self) -> str:
        self._count += 1
        return unique_text(f"s{self._seed}n{self._count}", POISON if self._some.random() < 0.1 else "")

    def _files(self) -> list[Path]:
        return sorted(self._root.rglob("*.md"))

    def _write(self, kb: KnowledgeBase) -> None:
        if len(self._files()) < MAX_DOCUMENTS:
            file = self._root / self._some.choice(FOLDERS) / f"文 {self._some.randrange(99)}.md"
            self._begin(file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._text(), encoding="utf-8")

    def _edit(self, kb: KnowledgeBase) -> None:
        for file in self._picked():
            file.write_text(self._text(), encoding="utf-8")

    def _shift(self, kb: KnowledgeBase) -> None:
        for file in self._picked():
            file.write_text(
                file.read_text(encoding="utf-8") + f"\n\n## 三\n\n{self._some.random()}\n", encoding="utf-8"
            )

    def _rename(self, kb: KnowledgeBase) -> None:
        for file in self._picked():
            target = self._root / self._some.choice(FOLDERS) / f"新 {self._some.randrange(99)}.md"
            self._begin(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)

    def _remove(self, kb: KnowledgeBase) -> None:
        for file in self._picked():
            file.unlink()

    def _rename_folder(self, kb: KnowledgeBase) -> None:
        folders = sorted({file.parent for file in self._files()} - {self._root})
        for folder in folders[:1]:
            for file in folder.iterdir():
                self._begin(file)
            target = folder.with_name(f"{folder.name[:3]}{self._some.randrange(999)}")
            if not target.exists():
                folder.rename(target)

    def _upload(self, kb: KnowledgeBase) -> None:
        text, name = self._text(), f"上传 {self._some.randrange(4)}.md"
        file = self._root / "api" / name
        self._begin(file)
        kb.upload(name, text.encode(), "api", replace=True)
        self._say("uploaded", str(file.relative_to(self._root)), text)

    def _delete(self, kb: KnowledgeBase) -> None:
        for file in self._picked():
            path = str(file.relative_to(self._root))
            kb.delete(path)
            self._say("deleted", path)

    def _refresh(self, kb: KnowledgeBase) -> None:
        kb.refresh()

    def _picked(self) -> list[Path]:
        files = self._files()
        picked = self._some.sample(files, min(1, len(files)))
        for file in picked:
            self._begin(file)
        return picked

    def _begin(self, file: Path) -> None:
        self._say("begin", str(file.relative_to(self._root)))
