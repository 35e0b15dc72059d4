"""Lookups from many threads while 50 documents are indexed again and again: throughput, times, and right answers.

    python benchmarks/concurrency.py [--scale tiny|quick|full] [--work FOLDER] [--json]

Each version of a document bears its number in its summary and in every section. An answer is *stale* when it gives an
older version than one that was committed, or seen from the same level, before the lookup began; it is *mixed* when it
holds two versions of a document. *Degraded* ones say themselves that something is missing, such as documents that are
being indexed. Three lookups in four are real queries, one asks for a document that changes. The raw counterpart is the
same without any change.
"""

from __future__ import annotations

import random
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from corpora import SEED, real_source
from lookup import LITE, REPLICA
from measure import Options, Row, Target, row, run_group
from prepared import has_replica, indexed, opened, warm_up

from kbapp.domain.lookup_result import LookupResult
from kbapp.service.knowledge_base import KnowledgeBase

CHUNKS = {"tiny": 200, "quick": 2_000, "full": 10_000}
SECONDS = {"tiny": 2.0, "quick": 4.0, "full": 15.0}
THREADS = {"tiny": (1, 4), "quick": (1, 4, 16, 64), "full": (1, 4, 16, 64)}
DOCUMENTS = 50
LEAST_ROUNDS = 2
ASKS_FOR_CHANGED = 0.25
LEVELS = ("L0", "metadata", "L1")
"""Text of the file as it is, what the index in memory holds of it, text of the chunks: each follows by itself."""

VERSION = re.compile(r"rev(\d{3})v(\d{6})")


@dataclass
class Known:
    """The least version of each document that a lookup may give from now on, by level."""

    versions: dict[tuple[str, str], int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def snapshot(self) -> dict[tuple[str, str], int]:
        with self.lock:
            return dict(self.versions)

    def raise_to(self, key: tuple[str, str], version: int) -> None:
        with self.lock:
            self.versions[key] = max(version, self.versions.get(key, 0))


@dataclass
class Tally:
    """What the threads found."""

    milliseconds: list[float] = field(default_factory=list)
    checked: int = 0
    stale: int = 0
    mixed: int = 0
    degraded: int = 0
    errors: list[str] = field(default_factory=list)
    rounds: int = 0
    seconds: float = 0.0

    @property
    def note(self) -> str:
        wrong = f"{len(self.errors)} errors, {self.degraded} degraded, {self.stale} stale, {self.mixed} mixed"
        return f"{wrong} of {len(self.milliseconds)}, {self.checked} with a version, {self.rounds} rounds"


def versions_in(result: LookupResult) -> Iterator[tuple[tuple[str, str], int]]:
    """Document and level, and the version that it gives there."""
    from_memory = result.primary is not None and result.primary.available_sections is None
    for level, part in (("metadata" if from_memory else "L0", result.primary), ("L1", result.supplement)):
        for document, version in VERSION.findall(part.content if part else ""):
            yield (document, level), int(version)


def check(result: LookupResult, before: Mapping[tuple[str, str], int], tally: Tally, known: Known) -> None:
    found = list(versions_in(result))
    by_document: dict[str, set[int]] = {}
    for (document, level), version in found:
        by_document.setdefault(document, set()).add(version)
        tally.stale += version < before.get((document, level), 0)
        known.raise_to((document, level), version)
    tally.checked += bool(found)
    tally.mixed += any(len(versions) > 1 for versions in by_document.values())
    tally.degraded += result.degraded is not None


def write_version(root: Path, number: int, version: int) -> None:
    mark, name = f"rev{number:03}v{version:06}", f"subject{number:03}"
    sections = "\n\n".join(
        f"## {name} part {part}\n\nThe rollout checklist of {name}, {mark}: step {part}." for part in range(4)
    )
    head = f"title: {name} checklist\nkeywords: [{name}]\nsummary: the checklist of {name} as of {mark}"
    file = root / "changing" / f"{name}.md"
    file.parent.mkdir(exist_ok=True)
    file.with_suffix(".new").write_text(f"---\n{head}\n---\n\n# {name}\n\n{sections}\n", encoding="utf-8")
    file.with_suffix(".new").replace(file)


def queries_of(thread: int) -> Iterator[str]:
    """A keyword that one document has, its words in a question, or a real query."""
    some = random.Random(SEED + thread)
    real = real_source().queries
    while True:
        name = f"subject{some.randrange(DOCUMENTS):03}"
        asked = some.choice((name, f"rollout checklist {name} part {some.randrange(4)}"))
        yield asked if some.random() < ASKS_FOR_CHANGED else some.choice(real)


def look_up_until(stop: threading.Event, kb: KnowledgeBase, thread: int, known: Known) -> Tally:
    """One thread: a lookup after the other, each checked."""
    own = Tally()
    for query in queries_of(thread):
        if stop.is_set():
            break
        before = known.snapshot()
        start = time.perf_counter()
        try:
            result = kb.lookup(query)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted and shown
            own.errors.append(f"{type(error).__name__}: {error}")
            continue
        own.milliseconds.append((time.perf_counter() - start) * 1000)
        check(result, before, own, known)
    return own


def run(kb: KnowledgeBase, root: Path, threads: int, seconds: float, first_version: int) -> Tally:
    """Lookups from ``threads`` for so long; documents change meanwhile unless ``first_version`` is 0."""
    known, stop, rounds = Known(), threading.Event(), 0
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        work = [pool.submit(look_up_until, stop, kb, thread, known) for thread in range(threads)]
        try:
            while first_version and (time.perf_counter() - start < seconds or rounds < LEAST_ROUNDS):
                change_all(kb, root, first_version + rounds, known)
                rounds += 1
            stop.wait(max(0.0, seconds - (time.perf_counter() - start)))
        finally:
            stop.set()
    return added_up([each.result() for each in work], rounds, time.perf_counter() - start)


def change_all(kb: KnowledgeBase, root: Path, version: int, known: Known) -> None:
    for number in range(DOCUMENTS):
        write_version(root, number, version)
    report = kb.refresh()
    if report.failed:
        raise RuntimeError(f"{len(report.failed)} documents were not indexed")
    for number in range(DOCUMENTS):
        for level in LEVELS:
            known.raise_to((f"{number:03}", level), version)


def added_up(tallies: Sequence[Tally], rounds: int, seconds: float) -> Tally:
    return Tally(
        [each for tally in tallies for each in tally.milliseconds],
        sum(tally.checked for tally in tallies),
        sum(tally.stale for tally in tallies),
        sum(tally.mixed for tally in tallies),
        sum(tally.degraded for tally in tallies),
        [each for tally in tallies for each in tally.errors],
        rounds,
        seconds,
    )


def concurrency(options: Options) -> Iterator[Row]:
    """Each number of threads, each way to the vectors."""
    chunks, seconds = CHUNKS[options.scale], SECONDS[options.scale]
    for name in (LITE, REPLICA) if has_replica() else (LITE,):
        folder = options.work / "concurrency"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(indexed(options, chunks), folder)
        root = folder / "knowledge_base"
        with opened(folder, replica=name == REPLICA) as kb:
            change_all(kb, root, 1, Known())
            warm_up(kb)
            version = 2
            for threads in THREADS[options.scale]:
                idle = run(kb, root, threads, seconds, 0)
                busy = run(kb, root, threads, seconds, version)
                version += busy.rounds
                yield from rows_of(f"{name}, {chunks:,} chunks", threads, idle, busy)
        shutil.rmtree(folder)


def rows_of(name: str, threads: int, idle: Tally, busy: Tally) -> Iterator[Row]:
    size, raw = (threads, "threads"), "nothing changes"
    rates = [[len(each.milliseconds) / each.seconds] for each in (busy, idle)]
    yield row(f"lookups while 50 documents change, {name}", size, "/s", rates[0], raw=(raw, rates[1]))
    none = Target("p50", 0)
    yield row(f"wrong answers of them, {name}", size, "answers", [wrong(busy)], target=none, note=busy.note)
    yield row(
        f"one of them, {name}", size, "ms", busy.milliseconds, raw=(raw, idle.milliseconds), note=first_error(busy)
    )


def wrong(tally: Tally) -> int:
    return len(tally.errors) + tally.stale + tally.mixed


def first_error(tally: Tally) -> str | None:
    return tally.errors[0][:120] if tally.errors else None


if __name__ == "__main__":
    run_group((concurrency,), __doc__)
