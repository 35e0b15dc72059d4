"""Writers that are killed: for each line ``[seed, seconds]`` a child writes and deletes, and is killed after that time.

The parent has imported everything and opened nothing, so that a child starts in milliseconds. A child prints each step
once it is done; the parent prints ``null`` when the child is dead.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import milvus_lite.server_manager
import pymilvus

from tests.processes.milvus_samples import local_index, sample_id, write_samples

BATCH = 10
IMPORTED = (milvus_lite, pymilvus)


def write_until_killed(state_dir: Path, seed: int) -> None:
    index = local_index(state_dir)
    for step in range(10_000):
        first = (seed * 37 + step // 3) * BATCH % 2_000
        if step % 3 == 2:
            index.delete([sample_id(number) for number in range(first, first + BATCH)])
        else:
            write_samples(index, range(first, first + BATCH))
        say(["delete" if step % 3 == 2 else "write", first])


def say(answer: object) -> None:
    os.write(sys.stdout.fileno(), json.dumps(answer).encode() + b"\n")


def main() -> None:
    for line in sys.stdin:
        seed, seconds = json.loads(line)
        child = os.fork()
        if child == 0:
            write_until_killed(Path(sys.argv[1]), seed)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        say(None)


if __name__ == "__main__":
    main()
