"""``make chaos``: kill -9 at random moments of mixed work by two processes, and whether anything was lost.

    python -m tests.crash.chaos [--kills 1000] [--lanes 2] [--seed N] [--folder FOLDER]

Each lane has a folder of its own: a *writer* that uploads, replaces, edits, renames, deletes, reconciles and prunes,
with or without following the files, and a *reader* that looks up, gives feedback and uploads as well. One, the other,
the one that owns the vector engine, or both are killed; what is left and what is started go on. After some kills all
are ended and a fresh process checks: ``tests/crash/invariant.py``, what was acknowledged, the rows of the telemetry.
The plan follows from the seed; the moments are those of the machine. Exit status 1: a fault, whose folder is kept.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.chaos_lane import Lane
from tests.crash.chaos_ledger import Tally

SAY_EVERY = 20


@dataclass(slots=True)
class Run:
    """The lanes side by side; the first fault ends all."""

    folder: Path
    seed: int
    lanes: int
    tallies: dict[int, Tally] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def go(self, kills: int) -> bool:
        """Whether there was no fault."""
        share, rest = divmod(kills, self.lanes)
        threads = [
            threading.Thread(target=self._lane, args=(number, share + (number < rest))) for number in range(self.lanes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return not self.faults

    def _lane(self, number: int, kills: int) -> None:
        started, said = time.monotonic(), 0
        try:
            with ExitStack() as stack:
                lane = Lane(self.folder / f"lane{number}", self.seed + number, stack)
                self.tallies[number] = lane.tally
                for tally in lane.run(kills):
                    if self.faults:
                        return
                    if tally.kills >= said + SAY_EVERY or tally.kills >= kills:
                        said = tally.kills
                        say(f"{time.monotonic() - started:6.0f} s, lane {number}: {tally}, 0 faults")
        except Exception as error:  # noqa: BLE001 - whatever ends a lane is a fault
            trace = "".join(traceback.format_exception(error))
            self.faults.append(f"lane {number} after {self.tallies.get(number)}:\n{trace}")
            say(self.faults[-1])

    def summary(self) -> str:
        tallies = list(self.tallies.values())
        total = sum(tallies, Tally())
        reasons = [f"  {count:6} x {reason}" for reason, count in total.refusals.most_common()]
        return "\n".join([f"in all: {total}; {len(self.faults)} faults", "refused, busy or degraded:", *reasons])


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a script


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="kbapp-chaos-"))
    repeat = f'make chaos ARGS="--kills {options.kills} --lanes {options.lanes} --seed {options.seed}"'
    say(f"{repeat}  # in {folder}")
    run = Run(folder, options.seed, options.lanes)
    is_clean = run.go(options.kills)
    say(run.summary())
    if not is_clean:
        say(f"the folder is kept: {folder}\nagain: {repeat}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
