"""Mixed random work on a knowledge base that other processes use as well; says what begins and what has returned."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.ports import Vectors
from kbapp.domain.telemetry import Verdict
from kbapp.service.documents import UploadOutcome
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.overview import NoticeKind
from tests.processes.crash_samples import POISON, RefusingEmbedder, keyword, unique_text

Say = Callable[..., None]
Task = Callable[[KnowledgeBase], None]

SHARED = "shared"
SHARED_NAMES = ("甲.md", "乙.md", "丙.md")
POISONED = 0.05
LARGE = 0.05
LARGE_SECTIONS = 40
MAX_OWN = {"writer": 40, "reader": 12}
EMBEDDING_SECONDS = 0.02
PAUSE_SECONDS = 0.01
Bytes = bytes | None


class SlowEmbedder(RefusingEmbedder):
    """Takes some time, as a model does, so that processes are killed meanwhile, too."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        time.sleep(random.uniform(0, EMBEDDING_SECONDS))
        return super().embed_passages(texts)


class Work:
    """One process' work. Files and categories that begin with its role are its own; those of ``shared`` are not."""

    def __init__(self, folder: Path, role: str, life: str, seed: int, say: Say) -> None:
        self._root = folder / "knowledge_base"
        self._role = role
        self._life = life
        self._some = random.Random(seed)
        self._say = say
        self._count = 0
        self._calls: list[str] = []
        self._lost = 0  # telemetry rows of which the product says that it could not keep them
        self._changes = {"writer": self._writer_tasks, "reader": self._reader_tasks}[role]()

    def step(self, kb: KnowledgeBase) -> None:
        """One thing, and a short pause so that the other process gets a lock as well."""
        self._some.choice(self._changes)(kb)
        time.sleep(self._some.uniform(0, PAUSE_SECONDS))

    def _writer_tasks(self) -> list[Task]:
        on_disk = [self._edit_in_place, self._save_by_rename, self._append, self._rename, self._remove]
        often = [*[self._upload] * 3, self._replace, self._replace, self._delete, self._delete, *on_disk]
        seldom = [self._upload_the_same, self._rename_folder, self._reindex, self._prune, self._lookup]
        return [*often, *often, *seldom, self._share, self._share, self._unshare, self._refresh, self._refresh]

    def _reader_tasks(self) -> list[Task]:
        changing = [self._upload, self._replace, self._delete, self._share, self._unshare, self._doctor, self._clear]
        return [*[self._lookup] * 8, *[self._lookup_in_session] * 4, *[self._feedback] * 3, *changing]

    def _change(self, effects: Mapping[str, Bytes], do: Callable[[], object], *torn: bytes, move: bool = False) -> bool:
        """Do what leads to these bytes by path; ``torn``: what may be there when this process is killed meanwhile."""
        values = {path: hashed(data) for path, data in effects.items()}
        self._say("begin", time.monotonic(), values, [hashed(data) for data in torn], move)
        try:
            do()
        except UserError as error:
            self._say("refused", time.monotonic(), str(error))
        except IndexUnavailable as error:
            self._say("unsure", time.monotonic(), str(error))
        else:
            self._say("done", time.monotonic())
            return True
        return False

    def _text(self, *, small: bool = False) -> tuple[str, bytes]:
        """A marker and a text that has it in its keyword and its sections; a small one is written by one call."""
        self._count += 1
        marker = f"{self._life}n{self._count}"
        words = POISON if self._some.random() < POISONED else ""
        text = unique_text(marker, words)
        if not small and self._some.random() < LARGE:
            text += "".join(f"\n## 节 {number}\n\n{marker} 第 {number} 节\n" for number in range(LARGE_SECTIONS))
        return marker, text.encode()

    def _own(self) -> list[str]:
        folders = self._root.glob(f"{self._role}*")
        files = sorted(file for folder in folders for file in folder.glob("*.md"))
        return [str(file.relative_to(self._root)) for file in files]

    def _picked(self) -> list[str]:
        own = self._own()
        return self._some.sample(own, min(1, len(own)))

    def _put(self, kb: KnowledgeBase, path: str) -> None:
        """Upload, then find it (U5)."""
        marker, data = self._text()
        category, name = path.split("/")
        outcomes: list[str] = []

        def upload() -> None:
            outcomes.append(kb.upload(name, data, category, replace=True).outcome)

        is_own = category != SHARED
        if self._change({path: data}, upload) and is_own and outcomes != [UploadOutcome.FAILED]:
            self._expect(kb, marker, path)

    def _expect(self, kb: KnowledgeBase, marker: str, path: str) -> None:
        found = kb.unrecorded_lookup(keyword(marker)).result.primary
        assert found is not None, f"{path} was uploaded and is not found"
        assert found.source == f"knowledge_base/{path}", (found.source, path)

    def _upload(self, kb: KnowledgeBase) -> None:
        if len(self._own()) < MAX_OWN[self._role]:
            self._put(kb, f"{self._role}{self._some.choice(['', '运维'])}/文 {self._some.randrange(99)}.md")

    def _replace(self, kb: KnowledgeBase) -> None:
        for path in self._picked():
            self._put(kb, path)

    def _upload_the_same(self, kb: KnowledgeBase) -> None:
        for path in self._picked():
            category, name = path.split("/")
            data = (self._root / path).read_bytes()
            self._change({path: data}, lambda: kb.upload(name, data, category))  # noqa: B023 - called at once

    def _delete(self, kb: KnowledgeBase) -> None:
        for path in self._picked():
            self._change({path: None}, lambda: kb.delete(path))  # noqa: B023
            assert path not in {record.path for record in kb.documents()}, f"{path} was deleted and is there"

    def _share(self, kb: KnowledgeBase) -> None:
        self._put(kb, f"{SHARED}/{self._some.choice(SHARED_NAMES)}")

    def _unshare(self, kb: KnowledgeBase) -> None:
        path = f"{SHARED}/{self._some.choice(SHARED_NAMES)}"
        self._change({path: None}, lambda: kb.delete(path))

    def _edit_in_place(self, kb: KnowledgeBase) -> None:
        """As editors do that write into the file itself; what stands there in between is synced."""
        for path in self._picked():
            _, data = self._text(small=True)
            half = data.decode()[: self._some.randrange(len(data.decode()))].encode()
            file = self._root / path
            self._change({path: data}, lambda: write_in_two(file, half, data), b"", half)  # noqa: B023

    def _save_by_rename(self, kb: KnowledgeBase) -> None:
        for path in self._picked():
            _, data = self._text()
            file = self._root / path
            self._change({path: data}, lambda: save_by_rename(file, data))  # noqa: B023

    def _append(self, kb: KnowledgeBase) -> None:
        for path in self._picked():
            file = self._root / path
            data = file.read_bytes() + f"\n\n## 三\n\n{self._some.random()}\n".encode()
            self._change({path: data}, lambda: save_by_rename(file, data))  # noqa: B023

    def _rename(self, kb: KnowledgeBase) -> None:
        for path in self._picked():
            target = f"{self._role}/新 {self._life} {self._some.randrange(10**6)}.md"
            data = (self._root / path).read_bytes()
            (self._root / self._role).mkdir(exist_ok=True)
            rename = (self._root / path).rename
            self._change({path: None, target: data}, lambda: rename(self._root / target), move=True)  # noqa: B023

    def _rename_folder(self, kb: KnowledgeBase) -> None:
        folders = sorted({path.split("/")[0] for path in self._own()})
        for folder in self._some.sample(folders, min(1, len(folders))):
            target = f"{self._role}{self._some.randrange(10**6)}"
            moved = {path: (self._root / path).read_bytes() for path in self._own() if path.startswith(f"{folder}/")}
            new = {target + path.removeprefix(folder): data for path, data in moved.items()}
            rename = (self._root / folder).rename
            self._change(dict.fromkeys(moved) | new, lambda: rename(self._root / target), move=True)  # noqa: B023

    def _remove(self, kb: KnowledgeBase) -> None:
        for path in self._picked():
            self._change({path: None}, (self._root / path).unlink)

    def _refresh(self, kb: KnowledgeBase) -> None:
        self._change({}, kb.refresh)

    def _reindex(self, kb: KnowledgeBase) -> None:
        self._change({}, kb.reindex)

    def _prune(self, kb: KnowledgeBase) -> None:
        self._change({}, kb.prune_cache)

    def _doctor(self, kb: KnowledgeBase) -> None:
        kb.health()

    def _lookup(self, kb: KnowledgeBase, session: str | None = None) -> None:
        self._say("asking")
        found = kb.lookup(self._query(), session_id=session)
        lost = sum(notice.count for notice in kb.overview().notices if notice.kind is NoticeKind.TELEMETRY)
        is_kept, self._lost = lost <= self._lost, lost
        self._say("answered", found.invocation_id, is_kept, found.degraded)
        if is_kept:
            self._calls.append(found.invocation_id)

    def _lookup_in_session(self, kb: KnowledgeBase) -> None:
        self._lookup(kb, f"s{self._some.randrange(3)}")

    def _clear(self, kb: KnowledgeBase) -> None:
        self._say("asking")  # its row has an id that nobody is told
        kb.clear_session(f"s{self._some.randrange(3)}")

    def _feedback(self, kb: KnowledgeBase) -> None:
        if self._calls:
            self._say("marking")
            mark = kb.feedback(self._some.choice(self._calls), self._some.choice(list(Verdict)), "注")
            self._say("marked", mark.id)

    def _query(self) -> str:
        # A walk takes no harm from a folder that the other process is just removing; ``rglob`` ends with an error.
        names = sorted(name for _, _, names in os.walk(self._root) for name in names if name.endswith(".md"))
        stems = [name.removesuffix(".md") for name in self._some.sample(names, min(3, len(names)))]
        words = ["第一段", "没有的词", "second 第二段", *stems]
        return " ".join(self._some.sample(words, 2))


def hashed(data: Bytes) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def write_in_two(file: Path, half: bytes, data: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_TRUNC)
    try:
        for part in (half, data[len(half) :]):
            os.write(descriptor, part)
            os.fsync(descriptor)
            threading.Event().wait(0.001)
    finally:
        os.close(descriptor)


def save_by_rename(file: Path, data: bytes) -> None:
    temporary = file.with_name(f"{file.name}~")
    temporary.write_bytes(data)
    temporary.replace(file)
