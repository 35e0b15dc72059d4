"""What processes that stay take of the machine, and whether it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

GROWTH_SHARE, GROWTH_MB = 0.05, 10.0  # of the memory, whichever is more
FEWEST_SAMPLES = 15


@dataclass(frozen=True, slots=True)
class Sample:
    """Resident memory, threads and open file handles of a process at one moment."""

    rss_mb: float
    threads: int
    handles: int

    def __str__(self) -> str:
        return f"{self.rss_mb:.0f} MB, {self.threads} threads, {self.handles} handles"


def sample(pid: int) -> Sample:
    """Linux only."""
    process = Path("/proc") / str(pid)
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return Sample(int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), len(list((process / "fd").iterdir())))


def thirds(samples: Sequence[Sample]) -> tuple[Sample, Sample]:
    """The medians of the middle third and of the last one; the first is to warm up."""
    size = len(samples) // 3
    return _middle(samples[-2 * size : -size]), _middle(samples[-size:])


def growth(samples: Sequence[Sample]) -> Iterator[str]:
    """What is not flat."""
    if len(samples) < FEWEST_SAMPLES:
        return
    before, after = thirds(samples)
    if after.rss_mb - before.rss_mb > max(GROWTH_SHARE * before.rss_mb, GROWTH_MB):
        yield f"memory: {before.rss_mb:.0f} -> {after.rss_mb:.0f} MB"
    for name in ("threads", "handles"):
        if getattr(after, name) > getattr(before, name):
            yield f"{name}: {getattr(before, name)} -> {getattr(after, name)}"


def _middle(samples: Sequence[Sample]) -> Sample:
    return Sample(
        median(each.rss_mb for each in samples),
        int(median(each.threads for each in samples)),
        int(median(each.handles for each in samples)),
    )
