"""A second process: opens the index of a state folder and does what its standard input says, one JSON list per line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from kbapp.adapters.milvus_client import failure_reason, milvus_failures, open_client
from kbapp.adapters.milvus_index import MilvusIndex
from tests.processes.milvus_samples import local_index, sample_id, sample_vectors, write_samples


def status(index: MilvusIndex) -> list[object]:
    found = index.status()
    return [found.role, found.owner_pid, found.problem]


def search(index: MilvusIndex, number: int, limit: int) -> list[str]:
    return [hit.chunk_id for hit in index.search(sample_vectors(range(number, number + 1))[0], limit)]


def write(index: MilvusIndex, first: int, count: int) -> list[str]:
    write_samples(index, range(first, first + count))
    return [sample_id(number) for number in range(first, first + count)]


def refused(index: MilvusIndex) -> str:
    """What Milvus says to a vector of the wrong length; libraries log a traceback on both sides."""
    write_samples(index, range(1))
    with closing(open_client(str(index.status().uri), "", 5.0)) as client:
        try:
            client.search(
                index.collection_name(), data=[[1.0, 0.0, 0.0]], search_params={"metric_type": "L2"}, timeout=5
            )
        except milvus_failures() as error:
            return failure_reason(error)
    return ""


COMMANDS: dict[str, Callable[..., object]] = {
    "status": status,
    "search": search,
    "write": write,
    "ids": lambda index: sorted(index.chunk_ids()),
    "refused": refused,
    "close": lambda index: index.close(),
}


def main() -> None:
    index = local_index(Path(sys.argv[1]))
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer = COMMANDS[command](index, *arguments)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
