"""A process that follows a knowledge base and answers what its standard input asks, one JSON list per line."""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from kbapp.domain.ports import Vectors
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import open_for_test


class CountingEmbedder(TinyEmbedder):
    """Keeps the passages, and can be made to wait before each call."""

    def __init__(self) -> None:
        super().__init__()
        self.passages: list[str] = []
        self.gate = threading.Event()
        self.gate.set()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.gate.wait()
        self.passages += texts
        return super().embed_passages(texts)


def answer(kb: KnowledgeBase, embedder: CountingEmbedder, words: list[str]) -> object:
    match words:
        case ["lookup", query]:
            found = kb.lookup(query)
            return [part.source for part in (found.primary, found.supplement) if part]
        case ["documents"]:
            return {record.path: record.status for record in kb.documents()}
        case ["status"]:
            status = kb.following
            return {"mode": status.mode, "scans": status.scans, "problem": status.problem}
        case ["passages"]:
            return embedder.passages
        case ["embedding", "stop" | "go" as order]:
            embedder.gate.clear() if order == "stop" else embedder.gate.set()
            return order
        case _:
            raise ValueError(words)


def main(folder: str) -> None:
    logging.getLogger("kbapp").addFilter(lambda record: "no relevance profile" not in record.msg)  # of the tiny model
    logging.getLogger("kbapp.lookup").setLevel(logging.ERROR)  # between a delete and its reconcile a file is not there
    embedder = CountingEmbedder()
    kb = open_for_test(Path(folder), embedder)
    kb.follow()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(kb, embedder, json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
