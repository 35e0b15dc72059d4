"""One of several processes on a knowledge base: does what its standard input says, one JSON list per line."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kbapp.service.knowledge_base import KnowledgeBase
from tests.knowledge import open_for_test
from tests.processes.crash_samples import RefusingEmbedder


def say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def lookup(kb: KnowledgeBase, query: str) -> dict[str, object]:
    """The answer, without its id, and how long it took."""
    started = time.monotonic()
    result = kb.lookup(query).to_dict()
    del result["invocationId"]
    return {"result": result, "seconds": time.monotonic() - started}


def lookups(kb: KnowledgeBase, query: str, count: int) -> str:
    """Says each answer as soon as it is there."""
    for _ in range(count):
        say(lookup(kb, query))
    return "done"


def upload(kb: KnowledgeBase, names: list[str], texts: list[str]) -> list[str]:
    return [kb.upload(name, text.encode(), "api").outcome for name, text in zip(names, texts, strict=True)]


def engine(kb: KnowledgeBase) -> list[object]:
    found = kb.health().engine
    return [found.role, found.owner_pid]


COMMANDS: dict[str, Callable[..., object]] = {
    "lookup": lookup,
    "lookups": lookups,
    "upload": upload,
    "delete": lambda kb, path: kb.delete(path).path,
    "reindex": lambda kb: kb.reindex().embedded,
    "refresh": lambda kb: len(kb.refresh().changes),
    "engine": engine,
    "problems": lambda kb: [problem.problem for problem in kb.health().problems],
}


def main() -> None:
    logging.disable(logging.CRITICAL)
    folder, *searched = sys.argv[1:]  # `milvus`: not the read replica
    with open_for_test(Path(folder), RefusingEmbedder(), milvus__read_replica=str(searched != ["milvus"])) as kb:
        for line in sys.stdin:
            command, *arguments = json.loads(line)
            say(COMMANDS[command](kb, *arguments))


if __name__ == "__main__":
    main()
