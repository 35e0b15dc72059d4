"""Resident memory of the processes that stay: the app with one page open, and a bare Python that looks things up.

    python benchmarks/memory.py [--scale tiny|quick|full] [--work FOLDER] [--json]

``re-opened`` finds the index as it was left; ``right after indexing`` has just made it, the vectors being in the cache.
The app is the product's own server on a free port of 127.0.0.1, ended by its process id; a page is opened as a browser
does it, over the WebSocket. Memory is read when it has not moved for some seconds. Linux only.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

from corpora import real_source
from measure import Options, ProcessEndedError, Row, Target, row, rss_mb, run_group
from prepared import indexed

from kbapp.bootstrap import DATABASE_FILE

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

CHUNKS = {"tiny": (100,), "quick": (10_000,), "full": (2_000, 5_000, 10_000, 50_000)}
TARGET_CHUNKS = 10_000
SETTLED_MB, SETTLED_SECONDS = 2.0, 4.0
PATIENCE_SECONDS = 1_800.0

BARE = """
import sys
from pathlib import Path
from kbapp import Settings, open_knowledge_base
folder = Path(sys.argv[1])
named = {"knowledge.base-path": str(folder / "knowledge_base"), "state-dir": str(folder / "state")}
with open_knowledge_base(Settings.load(environ={}, overrides=named)) as kb:
    if sys.argv[2] == "index":
        kb.refresh()
    for query in sys.argv[3:]:
        kb.lookup(query)
    print("ready", flush=True)
    sys.stdin.readline()
"""


def bare_process(options: Options) -> Iterator[Row]:
    """``open_knowledge_base`` with the bundled model, after some lookups."""
    for chunks in CHUNKS[options.scale]:
        folder = indexed(options, chunks)
        queries = real_source().queries[:10]
        for kind, kept in (("re-opened", folder), ("right after indexing", without_index(options, folder))):
            command = [sys.executable, "-c", BARE, str(kept), "index" if kept is not folder else "open", *queries]
            with started(command, options.work) as process:
                assert process.stdout is not None
                if process.stdout.readline().strip() != b"ready":
                    raise ProcessEndedError("the process that looks things up ended early")
                memory = settled(process.pid)
            yield row(f"resident, Python process, {kind}", (chunks, "chunks"), "MB", [memory])
        shutil.rmtree(kept, ignore_errors=True)


def app(options: Options) -> Iterator[Row]:
    """``kbapp app`` with one page session, once its first reconcile is over."""
    for chunks in CHUNKS[options.scale]:
        folder = indexed(options, chunks)
        for kind, bound, kept in (
            ("re-opened", 450, folder),
            ("right after indexing", 650, without_index(options, folder)),
        ):
            target = Target("p50", bound) if chunks == TARGET_CHUNKS else None
            memory = app_memory(options, kept)
            yield row(f"resident, app with a page, {kind}", (chunks, "chunks"), "MB", [memory], target=target)
        shutil.rmtree(kept, ignore_errors=True)


def without_index(options: Options, folder: Path) -> Path:
    """The same documents with nothing but the cached vectors."""
    kept = options.work / f"{folder.name}-cached"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder / "knowledge_base", kept / "knowledge_base")
    (kept / "state").mkdir()
    with closing(sqlite3.connect(folder / "state" / DATABASE_FILE)) as source:
        source.execute("VACUUM INTO ?", (str(kept / "state" / DATABASE_FILE),))
    with closing(sqlite3.connect(kept / "state" / DATABASE_FILE)) as database:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("DELETE FROM chunk_fts")
        for table in ("chunk", "api_document", "index_state"):
            database.execute(f"DELETE FROM {table}")
        database.commit()
    return kept


def app_memory(options: Options, folder: Path) -> float:
    port = free_port()
    command = [sys.executable, "-m", "kbapp", "--root", str(folder / "knowledge_base"), "--state-dir"]
    command += [str(folder / "state"), "app", "--port", str(port), "--no-browser"]
    wanted = len(list((folder / "knowledge_base").rglob("*.md")))
    with started(command, options.work) as process:
        wait_for(lambda: answers(port), process)
        return asyncio.run(memory_with_page(process, port, folder, wanted))


async def memory_with_page(process: subprocess.Popen[bytes], port: int, folder: Path, documents: int) -> float:
    """Open the home page, keep its session, and wait until all documents are indexed and nothing is done any more."""
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from websockets.asyncio.client import connect

    message = BackMsg()
    message.rerun_script.query_string = ""
    async with connect(
        f"ws://127.0.0.1:{port}/_stcore/stream",
        subprotocols=["streamlit"],
        origin=f"http://127.0.0.1:{port}",
        max_size=None,
    ) as page:
        await page.send(message.SerializeToString())
        await until_drawn(page)
        reading = asyncio.create_task(read_all(page))
        await asyncio.to_thread(wait_for, lambda: indexed_documents(folder) == documents, process)
        memory = await asyncio.to_thread(settled, process.pid)
        reading.cancel()
    return memory


async def until_drawn(page: ClientConnection) -> None:
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

    async for data in page:
        message = ForwardMsg.FromString(data)
        if message.WhichOneof("type") == "script_finished":
            if message.script_finished != ForwardMsg.FINISHED_SUCCESSFULLY:
                raise RuntimeError("the home page was not drawn to its end")
            return
    raise RuntimeError("the server closed the session")


async def read_all(page: ClientConnection) -> None:
    """What is not read would pile up on the server's side."""
    async for _ in page:
        pass


def indexed_documents(folder: Path) -> int:
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(f"file:{folder / 'state' / DATABASE_FILE}?mode=ro", uri=True)) as database,
    ):
        return int(database.execute("SELECT count(*) FROM api_document WHERE status = 'INDEXED'").fetchone()[0])
    return -1


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process while the block runs; ended by its id. Outside of the checkout, so that PYTHONPATH chooses kbapp."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KBAPP_")}
    with (folder / "process.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def settled(pid: int) -> float:
    """Resident MB once it has stayed within 2 MB, with nothing to do, for four seconds."""
    memory, since = rss_mb(pid), time.monotonic()
    ends = since + PATIENCE_SECONDS
    while time.monotonic() < ends and time.monotonic() - since < SETTLED_SECONDS:
        time.sleep(0.2)
        now = rss_mb(pid)
        if abs(now - memory) > SETTLED_MB or is_busy(pid):
            memory, since = now, time.monotonic()
    return rss_mb(pid)


def is_busy(pid: int, seconds: float = 0.5) -> bool:
    """Whether a process takes more than a third of a core: it is still indexing or calibrating."""
    before = processor_seconds(pid)
    time.sleep(seconds)
    return processor_seconds(pid) - before > seconds / 3


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if process.poll() is not None or time.monotonic() > ends:
            raise ProcessEndedError("the server ended, or did not become ready: see process.log in the work folder")
        time.sleep(0.2)


def answers(port: int) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1) as answer:
        return bool(answer.status == 200)
    return False


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    run_group((bare_process, app), __doc__)
