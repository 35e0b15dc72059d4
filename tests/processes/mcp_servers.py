"""``kbapp mcp`` in processes of its own, as clients of the SDK, raw pipes and HTTP see it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

from kbapp.adapters.milvus_address import read_address
from kbapp.adapters.milvus_engine import ADDRESS_FILE
from tests.processes.milvus_processes import PATIENCE_SECONDS, ROOT

REFUSALS = ("Invalid Host header: ", "Invalid Origin header: ")
HANDSHAKE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of a knowledge base, the endpoint that embeds for it, and whether vectors are searched in memory."""

    folder: Path
    endpoint: str
    read_replica: bool = True

    @property
    def environment(self) -> dict[str, str]:
        return {
            "KBAPP_EMBEDDING__MODEL": "openai:tiny",
            "KBAPP_EMBEDDING__BASE_URL": self.endpoint,
            "KBAPP_MILVUS__READ_REPLICA": str(self.read_replica),
        }

    def arguments(self, *words: str) -> list[str]:
        root, state = self.folder / "knowledge_base", self.folder / "state"
        return ["-m", "kbapp", "--root", str(root), "--state-dir", str(state), "mcp", *words]

    def engine_owner(self) -> int | None:
        """The process that serves the vectors, as it says itself."""
        address = read_address(self.folder / "state" / ADDRESS_FILE)
        return address.pid if address else None


@asynccontextmanager
async def stdio_server_client(place: Place, mode: str) -> AsyncIterator[Client]:
    """A client of a server of its own; whatever the server says on stderr is a failure."""
    parameters = StdioServerParameters(
        command=sys.executable, args=place.arguments(), cwd=ROOT, env=dict(place.environment)
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=mode) as client:
            yield client
        errors.seek(0)
        assert errors.read() == ""


class RawServer:
    """A server over pipes, whose every line of output is read as JSON."""

    def __init__(self, place: Place) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *place.arguments()],
            cwd=ROOT,
            env=os.environ | place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._received = b""

    def request(self, number: int, method: str, params: dict[str, object]) -> Any:
        """Send a request and return its answer."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answer = self.receive()
        assert answer["id"] == number
        return answer

    def send(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        while b"\n" not in self._received:
            assert select.select([self.process.stdout], [], [], PATIENCE_SECONDS)[0], "the server says nothing"
            block = os.read(self.process.stdout.fileno(), 65_536)
            assert block, "the server has ended"
            self._received += block
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)

    def end(self) -> tuple[int, bytes, bytes]:
        """Close its input and wait: exit status, what was left on stdout, stderr."""
        out, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, self._received + out, errors


@contextmanager
def raw_server(place: Place) -> Iterator[RawServer]:
    """A server that has answered the handshake of the older protocol."""
    server = RawServer(place)
    try:
        server.request(0, "initialize", HANDSHAKE)
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


@contextmanager
def http_server(place: Place) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The endpoint's URL; at the end the server is asked to go, and may have said no more than whom it refused."""
    process = subprocess.Popen(
        [sys.executable, *place.arguments("--transport", "http", "--port", "0")],
        cwd=ROOT,
        env=os.environ | place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        yield process.stderr.readline().removeprefix("serving on ").strip(), process
        is_killed = process.poll() is not None
        process.terminate()
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        said = [line for line in errors.splitlines() if not line.startswith(REFUSALS)]
        assert (is_killed or process.returncode == 0, out, said) == (True, "", [])
    finally:
        process.kill()
        process.communicate()
