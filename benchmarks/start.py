"""How long a start takes until L0 answers, how long nothing-has-changed takes, and whole commands of the terminal.

    python benchmarks/start.py [--scale tiny|quick|full] [--work FOLDER] [--json]

In process, imports excluded: ``cold`` has no state folder yet, ``unchanged`` finds that of the last start. From the
start of the process: ``python -c`` that opens and looks one keyword up, ``kbapp lookup``, ``import kbapp`` and
``kbapp --help``, each beside ``python -c pass``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from measure import Options, Row, Target, interleaved, milliseconds, row, run_group
from prepared import CALIBRATED_CHUNKS, SEMANTIC, indexed, opened, with_documents

from kbapp.adapters.document_files import DocumentFiles

DOCUMENTS = {
    "tiny": (20, 50, 100),
    "quick": (250, 500, 1_000, 2_000),
    "full": (1_000, 5_000, 10_000, 20_000),
}
INDEXED_CHUNKS = {"tiny": (100,), "quick": (1_000, 2_000, 5_000, 10_000), "full": (2_000, 5_000, 10_000, 50_000)}
PROCESS_CHUNKS = {"tiny": 100, "quick": 5_000, "full": 5_000}
TARGET_DOCUMENTS = 1_000
OPEN_AND_LOOK_UP = """
import sys
from pathlib import Path
from kbapp import Settings, open_knowledge_base
folder = Path(sys.argv[1])
named = {"knowledge.base-path": str(folder / "knowledge_base"), "state-dir": str(folder / "state")}
with open_knowledge_base(Settings.load(environ={}, overrides=named)) as kb:
    assert kb.lookup(sys.argv[2]).primary
"""


def opening(options: Options) -> Iterator[Row]:
    """``open_knowledge_base`` beside reading and parsing the entries of all files."""
    for count in DOCUMENTS[options.scale]:
        folder = with_documents(options, count, whole_sections=True)
        files = DocumentFiles(folder / "knowledge_base")
        paths = [file.relative_to(folder / "knowledge_base").as_posix() for file in sorted(folder.rglob("*.md"))]

        def read_and_parse(_: int, files: DocumentFiles = files, paths: list[str] = paths) -> None:
            for path in paths:
                files.read_entry(path)

        def start(_: int, folder: Path = folder) -> None:
            with opened(folder) as kb:
                assert kb.entries()

        def cold_start(number: int, folder: Path = folder, start=start) -> None:
            shutil.rmtree(folder / "state", ignore_errors=True)
            start(number)

        ways = {"unchanged": start, "cold": cold_start, "raw": read_and_parse}
        times = interleaved(ways, range(options.repeats), warm_up=1)
        raw = ("read and parse", times["raw"])
        for kind in ("cold", "unchanged"):
            bound = Target("p50", 250) if count == TARGET_DOCUMENTS else None
            yield row(f"start until L0 answers, {kind}", (count, "documents"), "ms", times[kind], raw=raw, target=bound)


def no_change(options: Options) -> Iterator[Row]:
    """``refresh`` and ``reindex`` of an index where nothing has changed, beside reading and hashing all files."""
    for chunks in INDEXED_CHUNKS[options.scale]:
        folder = indexed(options, chunks)
        files = sorted((folder / "knowledge_base").rglob("*.md"))

        def read_and_hash(_: int, files: list[Path] = files) -> None:
            for file in files:
                hashlib.sha256(file.read_bytes()).digest()

        with opened(folder) as kb:
            report = kb.refresh()
            ways = {"refresh": lambda _, kb=kb: kb.refresh(), "raw": read_and_hash}
            times = interleaved(ways, range(3 * options.repeats), warm_up=1)
            whole = []
            if chunks <= CALIBRATED_CHUNKS:
                kb.reindex()
                whole = [milliseconds(kb.reindex) for _ in range(options.repeats)]
        bound = Target("p50", 150) if len(files) == TARGET_DOCUMENTS else None
        size, raw = (len(files), "documents"), ("read and hash", times["raw"])
        note = f"{report.embedded} embedded, {len(report.changes)} changed"
        yield row("no change, refresh", size, "ms", times["refresh"], raw=raw, target=bound, note=note)
        if whole:
            yield row("no change, kbapp index (compares Milvus too)", size, "ms", whole, raw=raw)


def processes(options: Options) -> Iterator[Row]:
    """Whole commands, each beside an interpreter that does nothing."""
    folder = indexed(options, PROCESS_CHUNKS[options.scale])
    with opened(folder) as kb:
        keyword = next(entry.keywords[0] for entry in kb.entries() if entry.keywords)
    python, kbapp = [sys.executable], [sys.executable, "-m", "kbapp"]
    state = ["--root", str(folder / "knowledge_base"), "--state-dir", str(folder / "state")]
    commands = {
        "python -c pass": [*python, "-c", "pass"],
        "import kbapp": [*python, "-c", "import kbapp"],
        "from kbapp import open_knowledge_base": [*python, "-c", "from kbapp import open_knowledge_base"],
        "kbapp --help": [*kbapp, "--help"],
        "process: open, look a keyword up": [*python, "-c", OPEN_AND_LOOK_UP, str(folder), keyword],
        "process: kbapp lookup KEYWORD": [*kbapp, *state, "lookup", keyword],
        "process: kbapp lookup SEMANTIC (loads model and engine)": [*kbapp, *state, "lookup", SEMANTIC],
    }
    targets = {
        "import kbapp": Target("more", 250),
        "from kbapp import open_knowledge_base": Target("more", 250),
        "kbapp --help": Target("more", 150),
        "process: open, look a keyword up": Target("p50", 700),
    }
    ways = {name: partial(run, command, options.work) for name, command in commands.items()}
    times = interleaved(ways, range(options.repeats), warm_up=1)
    raw = ("python -c pass", times.pop("python -c pass"))
    documents = len(list((folder / "knowledge_base").rglob("*.md")))
    for name, values in times.items():
        yield row(name, (documents, "documents"), "ms", values, raw=raw, target=targets.get(name))


def run(command: list[str], folder: Path, _: int) -> None:
    """Outside of the checkout, so that ``kbapp`` is the one that is measured, whichever that is."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KBAPP_")}
    subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True)


if __name__ == "__main__":
    run_group((opening, no_change, processes), __doc__)
