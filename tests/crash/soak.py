"""``make soak``: whether processes that stay keep the size they have, and the stores agree each minute.

    python -m tests.crash.soak [--minutes 30] [--seed N] [--folder FOLDER]

Everything is as shipped: the bundled model, since it holds most of the memory, the watcher, an MCP server over HTTP
that clients come to and leave, and a process that changes documents through the Python API; these two stay and are
measured every 10 s. Beside them a second process of the API is ended or killed each minute and started again, and the
command line looks up, uploads, deletes, indexes and checks. Flat: between the middle third and the last one (medians)
memory grows by 5 % or 10 MB at most, threads and handles not at all; less than five minutes tell nothing of that. Exit
status 1: a fault, whose folder is kept. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mcp import Client

from tests.crash.chaos import say
from tests.crash.chaos_ledger import Fault, Ledger, Tally
from tests.crash.flatness import Sample, growth, sample, thirds
from tests.knowledge import write_documents
from tests.processes.chaos_work import hashed
from tests.processes.crash_samples import keyword, unique_text
from tests.processes.milvus_processes import ROOT, LineProcess, line_process

CYCLE_SECONDS = 10.0
CYCLES_PER_CHECK = 6
WORK_SECONDS = 6.0
DOCUMENTS = 40  # as many as there are to be, or their number would grow as they are made
MCP_LOOKUPS = 8
CLI_FILES = ("甲.md", "乙.md")
QUERIES = ("第一段", "没有的词", "second 第二段", "标题", "怎样处理超时")


class Soak:
    """One folder, two processes that stay, others that come and go."""

    def __init__(self, folder: Path, seed: int, stack: ExitStack) -> None:
        self.tally = Tally()
        self.samples: dict[str, list[Sample]] = {"api": [], "mcp": []}
        self._folder = folder
        self._some = random.Random(seed)
        self._stack = stack
        self._ledger = Ledger(folder, self.tally)
        self._lives = 0
        texts = {f"writer/{number}.md": unique_text(f"d{number}") for number in range(DOCUMENTS)}
        write_documents(folder / "knowledge_base", texts)
        self._ledger.settle(self._ledger.found(), [], [])
        self._api = stack.enter_context(self._process("writer"))
        self._url, self._server = stack.enter_context(mcp_server(folder))

    def run(self, seconds: float) -> Iterator[int]:
        """The number of each minute after its check."""
        until, minute = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            minute += 1
            with self._process("reader") as reader:
                for _ in range(CYCLES_PER_CHECK):
                    self._cycle(reader)
                self._leave(reader)
            self._check()
            yield minute

    @contextmanager
    def _process(self, role: str) -> Iterator[LineProcess]:
        self._lives += 1
        seed = str(self._some.randrange(2**32))
        with line_process("soak_worker", str(self._folder), role, f"{role[0]}{self._lives}", seed) as process:
            if role != "check":
                self._listen(role, process, "open")
            yield process

    def _listen(self, role: str, process: LineProcess, last: str) -> list[object]:
        while True:
            words = process.receive()
            assert isinstance(words, list)
            if words[0] == last:
                return words
            self._ledger.note(role, words)

    def _cycle(self, reader: LineProcess) -> None:
        next_cycle = time.monotonic() + CYCLE_SECONDS
        self._api.send("work", WORK_SECONDS)
        reader.send("work", WORK_SECONDS)
        asyncio.run(self._ask_server())
        self._use_command_line()
        self._listen("writer", self._api, "rested")
        self._listen("reader", reader, "rested")
        for name, pid in (("api", self._api.pid), ("mcp", self._server.pid)):
            self.samples[name].append(sample(pid))
        time.sleep(max(next_cycle - time.monotonic(), 0))

    async def _ask_server(self) -> None:
        """A client that comes, asks and goes."""
        async with Client(f"{self._url}?session=s{self._some.randrange(50)}") as client:
            for _ in range(MCP_LOOKUPS):
                self._ledger.note("mcp", ["asking"])
                answer = await client.call_tool("lookup_knowledge", {"query": self._some.choice(QUERIES)})
                found = answer.structured_content
                assert found is not None, answer
                self._ledger.note("mcp", ["answered", found["invocationId"], True, found["degraded"]])

    def _use_command_line(self) -> None:
        name = self._some.choice(CLI_FILES)
        path = f"cli/{name}"
        match self._some.choice(["lookup", "lookup", "upload", "upload", "delete", "index", "doctor"]):
            case "lookup":
                self._ledger.note("cli", ["asking"])
                found = json.loads(self._command("lookup", self._some.choice(QUERIES), "--json"))
                self._ledger.note("cli", ["answered", found["invocationId"], True, found["degraded"]])
            case "upload":
                file = self._folder / name
                marker = f"c{self._some.randrange(10**9)}"
                file.write_text(unique_text(marker), encoding="utf-8")
                self._change(path, file.read_bytes(), "upload", str(file), "--category", "cli", "--replace")
                assert path in self._command("lookup", keyword(marker), "--json")
                self._ledger.note("cli", ["asking"])
            case "delete" if (self._folder / "knowledge_base" / path).exists():
                self._change(path, None, "delete", path)
            case word:
                self._command("index" if word == "delete" else word)
        self.tally.acknowledged["commands"] += 1

    def _change(self, path: str, data: bytes | None, *words: str) -> None:
        self._ledger.note("cli", ["begin", time.monotonic(), {path: hashed(data)}, [], False])
        self._command(*words)
        self._ledger.note("cli", ["done", time.monotonic()])

    def _command(self, *words: str) -> str:
        folders = ["--root", str(self._folder / "knowledge_base"), "--state-dir", str(self._folder / "state")]
        command = [sys.executable, "-m", "kbapp", *folders, *words]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if told.returncode and words[0] != "doctor":  # what others are doing is a difference to it
            raise Fault(f"kbapp {' '.join(words)}: {told.stdout}{told.stderr}")
        return told.stdout

    def _leave(self, reader: LineProcess) -> None:
        """Half of them are killed."""
        if self._some.random() < 0.5:
            reader.signal(signal.SIGKILL)
            self.tally.kills += 1
        else:
            reader.send("end")
            self._listen("reader", reader, "ended")
        self._ledger.gone("reader")

    def _check(self) -> None:
        found = self._ledger.found()
        with self._process("check") as process:
            _, documents, calls, marks = self._listen("check", process, "checked")
        assert isinstance(documents, int)
        assert isinstance(calls, list)
        assert isinstance(marks, list)
        self._ledger.compare(found, documents, calls, marks)


@contextmanager
def mcp_server(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Its URL, and the process."""
    folders = ["--root", str(folder / "knowledge_base"), "--state-dir", str(folder / "state")]
    with (folder / "mcp.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "kbapp", *folders, "mcp", "--transport", "http", "--port", "0"],
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.DEVNULL,
            stderr=log,
            text=True,
        )
        try:
            while "serving on " not in (said := (folder / "mcp.log").read_text()):
                assert process.poll() is None, said
                time.sleep(0.1)
            yield said.split("serving on ")[1].split()[0], process
        finally:
            process.terminate()
            process.wait()


def report(soak: Soak, minute: int, seconds: float) -> str:
    sizes = "; ".join(f"{name} {samples[-1]}" for name, samples in soak.samples.items())
    done = ", ".join(f"{count:,} {name}" for name, count in sorted(soak.tally.acknowledged.items()))
    return f"{seconds:5.0f} s, check {minute}: {sizes}; {done}, {soak.tally.kills} kills"


def verdict(soak: Soak) -> Iterator[str]:
    for name, samples in soak.samples.items():
        if len(samples) > 2:
            before, after = thirds(samples)
            say(f"{name}, {len(samples)} samples, middle third: {before}; last third: {after}")
        yield from (f"{name} grows: {what}" for what in growth(samples))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="kbapp-soak-"))
    say(f'make soak ARGS="--minutes {options.minutes:g} --seed {options.seed}"  # in {folder}')
    started, faults = time.monotonic(), []
    try:
        with ExitStack() as stack:
            soak = Soak(folder, options.seed, stack)
            for minute in soak.run(options.minutes * 60):
                say(report(soak, minute, time.monotonic() - started))
            faults = list(verdict(soak))
    except Exception as error:  # noqa: BLE001 - whatever ends it is a fault
        faults = ["".join(traceback.format_exception(error))]
    say("\n".join(faults) or "flat, and all checks passed")
    if not faults:
        shutil.rmtree(folder)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
