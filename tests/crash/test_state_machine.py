"""1,000 random operations on real stores; after each sequence one reconcile makes everything agree (S4, U8)."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from kbapp.domain.ports import Vectors
from kbapp.service.documents import UploadOutcome
from kbapp.service.knowledge_base import KnowledgeBase
from tests.crash.invariant import assert_invariant, read_texts
from tests.knowledge import open_for_test
from tests.processes.crash_samples import POISON, RefusingEmbedder, unique_text

SEQUENCES, OPERATIONS = 20, 50

categories = st.sampled_from(["api", "运维", "ops"])
folders = st.sampled_from(["", "api", "api/深层", "运维", "ops"])
names = st.sampled_from(["a.md", "b.md", "支付 网关.md", "错误.MD"])
words = st.sampled_from(["", "普通", POISON])
places = st.integers(0, 99)


class InterruptedEmbedder(RefusingEmbedder):
    """Lets something happen in the middle of a reconcile, once."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] | None = None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        happens, self.meanwhile = self.meanwhile, None
        if happens:
            happens()
        return super().embed_passages(texts)


class KnowledgeBaseMachine(RuleBasedStateMachine):
    """``texts`` is what is to be on disk, by path."""

    operations = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "knowledge_base"
        self.texts: dict[str, str] = {}
        self.count = 0
        self.embedder = InterruptedEmbedder()
        self.kb = self.opened()

    def opened(self) -> KnowledgeBase:
        return open_for_test(self.folder, self.embedder)

    def teardown(self) -> None:
        try:
            self.embedder.meanwhile = None
            self.reindex_and_check()
        finally:
            self.kb.close()
            shutil.rmtree(self.folder)

    def new_text(self, words: str) -> str:
        KnowledgeBaseMachine.operations += 1
        self.count += 1
        return unique_text(f"m{self.count}", words)

    def write(self, path: str, text: str) -> None:
        self.texts[path] = text
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def path_at(self, place: int) -> str:
        KnowledgeBaseMachine.operations += 1
        return sorted(self.texts)[place % len(self.texts)]

    has_documents = precondition(lambda self: self.texts)

    @rule(name=names, category=categories, words=words)
    def upload(self, name: str, category: str, words: str) -> None:
        path, text = f"{category}/{name}", self.new_text(words)
        result = self.kb.upload(name, text.encode(), category, replace=True)
        self.texts[path] = text
        assert (result.outcome is UploadOutcome.FAILED) == (words == POISON)

    @has_documents
    @rule(place=places, category=categories, name=names)
    def upload_the_same_bytes(self, place: int, category: str, name: str) -> None:
        text = self.texts[self.path_at(place)]
        self.kb.upload(name, text.encode(), category, replace=True)
        self.texts[f"{category}/{name}"] = text

    @has_documents
    @rule(place=places)
    def delete(self, place: int) -> None:
        path = self.path_at(place)
        self.kb.delete(path)
        del self.texts[path]
        assert path not in [record.path for record in self.kb.documents()]

    @rule(folder=folders, name=names, words=words)
    def save_a_file(self, folder: str, name: str, words: str) -> None:
        self.write(f"{folder}/{name}".lstrip("/"), self.new_text(words))

    @has_documents
    @rule(place=places, words=words, at_top=st.booleans())
    def edit_a_file(self, place: int, words: str, at_top: bool) -> None:
        path = self.path_at(place)
        text = self.texts[path]
        self.write(path, text.replace("\n# ", f"\n\n{words}\n# ", 1) if at_top else f"{text}\n## 三\n\n{words}\n")

    @has_documents
    @rule(place=places)
    def empty_a_file(self, place: int) -> None:
        self.write(self.path_at(place), "")

    @has_documents
    @rule(place=places)
    def delete_a_file(self, place: int) -> None:
        path = self.path_at(place)
        (self.root / path).unlink()
        del self.texts[path]

    @has_documents
    @rule(place=places, folder=folders, name=names)
    def move_a_file(self, place: int, folder: str, name: str) -> None:
        path, target = self.path_at(place), f"{folder}/{name}".lstrip("/")
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).replace(self.root / target)
        self.texts[target] = self.texts.pop(path)

    @has_documents
    @rule(place=places, folder=folders, name=names)
    def copy_a_file(self, place: int, folder: str, name: str) -> None:
        self.write(f"{folder}/{name}".lstrip("/"), self.texts[self.path_at(place)])

    @has_documents
    @rule(first=places, second=places)
    def swap_two_files(self, first: int, second: int) -> None:
        paths = self.path_at(first), self.path_at(second)
        texts = [self.texts[path] for path in paths]
        for path, text in zip(paths, reversed(texts), strict=True):
            self.write(path, text)

    @rule(folder=st.sampled_from(["api", "运维", "ops"]))
    def rename_a_folder(self, folder: str) -> None:
        KnowledgeBaseMachine.operations += 1
        self.count += 1
        if (self.root / folder).exists():
            target = f"{folder}{self.count}"
            (self.root / folder).rename(self.root / target)
            moved = {path: text for path, text in self.texts.items() if path.startswith(f"{folder}/")}
            for path, text in moved.items():
                del self.texts[path]
                self.texts[target + path.removeprefix(folder)] = text

    @rule()
    def restart(self) -> None:
        KnowledgeBaseMachine.operations += 1
        self.kb.close()
        self.kb = self.opened()

    @rule()
    def refresh(self) -> None:
        KnowledgeBaseMachine.operations += 1
        self.kb.refresh()

    @has_documents
    @rule(place=places, name=names, words=words)
    def refresh_while_a_file_changes_and_another_moves(self, place: int, name: str, words: str) -> None:
        self.save_a_file("ops", name, "")

        def meanwhile() -> None:
            self.edit_a_file(place, words, at_top=True)
            self.move_a_file(place + 1, "运维", name)

        self.embedder.meanwhile = meanwhile
        self.kb.refresh()
        self.embedder.meanwhile = None

    @rule()
    def reindex_and_check(self) -> None:
        KnowledgeBaseMachine.operations += 1
        self.kb.reindex()
        assert dict(read_texts(self.root)) == self.texts
        assert_invariant(self.kb, self.folder)


def test_s4_after_1000_random_operations_everything_agrees() -> None:
    KnowledgeBaseMachine.operations = 0
    started = time.perf_counter()
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        KnowledgeBaseMachine,
        settings=settings(
            max_examples=SEQUENCES,
            stateful_step_count=OPERATIONS,
            derandomize=True,
            phases=[Phase.generate],  # a shorter example would take minutes to find
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(f"{KnowledgeBaseMachine.operations} operations, {time.perf_counter() - started:.0f} s")  # noqa: T201
    assert KnowledgeBaseMachine.operations >= SEQUENCES * OPERATIONS * 0.9
