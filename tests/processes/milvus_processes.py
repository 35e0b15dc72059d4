"""Processes that a test talks to line by line, and a Milvus server on the loopback interface."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 120


class LineProcess:
    """A module of ours in a process of its own: a JSON list per line in, a JSON value per line out."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.processes.{module}", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._received = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, *words: object) -> None:
        self._input.write(json.dumps(words).encode() + b"\n")
        self._input.flush()

    def receive(self) -> object:
        while b"\n" not in self._received:
            if not select.select([self._output], [], [], PATIENCE_SECONDS)[0]:
                raise TimeoutError("the process says nothing")
            block = os.read(self._output.fileno(), 65_536)  # a buffered reader would hide lines from select
            assert block, "the process has ended"
            self._received += block
        line, _, self._received = self._received.partition(b"\n")
        answer: object = json.loads(line)
        return answer

    def said(self) -> list[object]:
        """What was said up to now, without waiting."""
        while select.select([self._output], [], [], 0)[0]:
            block = os.read(self._output.fileno(), 65_536)
            assert block, "the process has ended"
            self._received += block
        *lines, self._received = self._received.split(b"\n")
        return [json.loads(line) for line in lines]

    def ask(self, *words: object) -> object:
        self.send(*words)
        return self.receive()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a stopped process may have answered one thing more until it has stopped."""
        self._process.send_signal(number)
        if number is signal.SIGSTOP:
            wait_until(lambda: all(state == "T" for state in self._thread_states()))

    def _thread_states(self) -> list[str]:
        """Of each thread, one letter as in ``ps``; Linux only."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks]

    def kill(self) -> None:
        """SIGKILL, which a stopped process obeys as well."""
        self._process.kill()
        self._process.wait()
        self._input.close()
        self._output.close()

    def close(self) -> str:
        """Kill it, and tell what it wrote to stderr."""
        self.kill()
        with self._errors:
            self._errors.seek(0)
            return self._errors.read().decode()


@contextmanager
def line_process(module: str, *arguments: str) -> Iterator[LineProcess]:
    process = LineProcess(module, *arguments)
    try:
        yield process
    except BaseException as error:
        error.add_note(process.close())
        raise
    errors = process.close()
    assert errors == "", f"no warning or traceback of a library belongs on stderr: {errors}"


@contextmanager
def milvus_server(data_dir: Path) -> Iterator[str]:
    """The address of a ``milvus-lite server`` on the loopback interface."""
    port = free_port()
    options = ["--data-dir", str(data_dir), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen([sys.executable, "-m", "milvus_lite", "server", *options], stdout=subprocess.DEVNULL)
    try:
        while not is_listening(port):
            with suppress(subprocess.TimeoutExpired):
                raise ChildProcessError(f"the server has ended with status {process.wait(timeout=0.05)}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0
