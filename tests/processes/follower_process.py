"""A process that follows a knowledge base, as a test sees it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.knowledge import document, write_documents
from tests.processes.milvus_processes import LineProcess, line_process
from tests.waiting import wait_until

DEADLINE_SECONDS = 60.0  # generous: how long it took is logged, not asserted

logger = logging.getLogger(__name__)


class Process:
    """A process that follows the knowledge base under a folder."""

    def __init__(self, folder: Path, process: LineProcess) -> None:
        self.root = folder / "knowledge_base"
        self.line = process
        self.wait(lambda: self.scans > 0)

    def write(self, *paths: str) -> None:
        """Documents whose keyword is their file's name without suffix."""
        write_documents(self.root, {path: sample(Path(path).stem) for path in paths})

    def finds(self, query: str, path: str) -> bool:
        found = self.line.ask("lookup", query)
        assert isinstance(found, list)
        return f"knowledge_base/{path}" in found

    def wait(self, condition: Callable[[], bool]) -> None:
        wait_until(condition, DEADLINE_SECONDS)

    def sees(self, condition: Callable[[], bool]) -> None:
        """``wait`` after the last event of a change."""
        logger.info("seen after %.2f s", wait_until(condition, DEADLINE_SECONDS))

    @property
    def scans(self) -> int:
        return int(self.status["scans"])

    @property
    def status(self) -> dict[str, str]:
        status = self.line.ask("status")
        assert isinstance(status, dict)
        return status

    def documents(self, folder: str) -> dict[str, str]:
        documents = self.line.ask("documents")
        assert isinstance(documents, dict)
        return {path: status for path, status in documents.items() if path.startswith(f"{folder}/")}

    def embedded(self, word: str) -> list[str]:
        """The embedded passages that hold a word, as often as they were embedded."""
        passages = self.line.ask("passages")
        assert isinstance(passages, list)
        return [passage for passage in passages if word in passage]


@contextmanager
def following_process(folder: Path) -> Iterator[Process]:
    """A process that has begun to follow; whatever it says on stderr is a failure."""
    with line_process("follower_worker", str(folder)) as line:
        yield Process(folder, line)


def sample(word: str) -> str:
    """A document with a keyword that stands in its text as well."""
    return document(f"Title of {word}", word, f"What there is to say of {word}.")
