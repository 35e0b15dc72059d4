"""What a call over MCP adds to the same call in Python, in milliseconds.

    python benchmarks/mcp_calls.py [--root knowledge_base] [--state-dir .kbapp] [--rounds N] [--json]

Keyword lookups, so that the model's time does not hide it. Each query runs in turn in this process and through a
client: over standard input and output, and over HTTP in both versions of the protocol. The lines of a tool that does
nothing are what a call costs in the MCP package alone, in the same run. Index the folder first: a server that finds
texts without vectors embeds them meanwhile.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import anyio
import numpy as np
from mcp import Client, StdioServerParameters

from kbapp.bootstrap import open_knowledge_base
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings

WARM_UP = 10
NOOP = Path(__file__).with_name("mcp_noop.py")


def arguments(options: argparse.Namespace, *words: str) -> list[str]:
    folders = ["--root", str(options.root.absolute()), "--state-dir", str(options.state_dir.absolute())]
    return ["-m", "kbapp", *folders, "mcp", *words]


@asynccontextmanager
async def stdio_client(options: argparse.Namespace) -> AsyncIterator[Client]:
    environment = {name: value for name, value in os.environ.items() if name.startswith("KBAPP_")}
    server = StdioServerParameters(command=sys.executable, args=arguments(options), env=environment)
    async with Client(server) as client:
        yield client


@contextmanager
def http_url(options: argparse.Namespace) -> Iterator[str]:
    command = [sys.executable, *arguments(options, "--transport", "http", "--port", "0")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().removeprefix("serving on ").strip()
        finally:
            process.terminate()


@contextmanager
def noop_url() -> Iterator[str]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(NOOP), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while not is_open(port):
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def is_open(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def of_nothing(client: Client, calls: int) -> list[float]:
    """Each call of the tool that does nothing."""
    figures = []
    for _ in range(WARM_UP + calls):
        start = time.perf_counter()
        await client.call_tool("noop", {"query": "超时"})
        figures.append((time.perf_counter() - start) * 1000)
    return figures[WARM_UP:]


async def added(client: Client, kb: KnowledgeBase, queries: list[str], rounds: int) -> list[float]:
    """For each query the time through the client less the time in this process, in sessions of the same history."""
    figures = []
    session = f"benchmark-{secrets.token_hex(4)}"
    for query in [*queries[:WARM_UP], *queries * rounds]:
        start = time.perf_counter()
        kb.lookup(query, session_id=session)
        middle = time.perf_counter()
        result = await client.call_tool("lookup_knowledge", {"query": query})
        figures.append((time.perf_counter() - middle - (middle - start)) * 1000)
        assert not result.is_error
    return figures[min(WARM_UP, len(queries)) :]


async def measure(options: argparse.Namespace, kb: KnowledgeBase) -> dict[str, list[float]]:
    queries = [keyword for entry in kb.entries() for keyword in entry.keywords[:1] if not is_semantic(kb, keyword)]
    figures = {}
    async with stdio_client(options) as client:
        figures["stdio"] = await added(client, kb, queries, options.rounds)
    with http_url(options) as url:
        async with Client(f"{url}?session={secrets.token_hex(4)}") as client:
            figures["http"] = await added(client, kb, queries, options.rounds)
        async with Client(url, mode="legacy") as client:
            figures["http, older protocol"] = await added(client, kb, queries, options.rounds)
    calls = len(figures["stdio"])
    async with Client(StdioServerParameters(command=sys.executable, args=[str(NOOP), "stdio"])) as client:
        figures["stdio, a tool that does nothing"] = await of_nothing(client, calls)
    with noop_url() as url:
        async with Client(url) as client:
            figures["http, a tool that does nothing"] = await of_nothing(client, calls)
    return figures


def is_semantic(kb: KnowledgeBase, query: str) -> bool:
    kb.lookup(query, session_id="benchmark-mcp")
    return kb.telemetry(session_id="benchmark-mcp", limit=1)[0].l1_called


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("knowledge_base"))
    parser.add_argument("--state-dir", type=Path, default=Path(".kbapp"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    folders = {"knowledge.base-path": str(options.root.absolute()), "state-dir": str(options.state_dir.absolute())}
    with open_knowledge_base(Settings.load(overrides=folders)) as kb:
        figures = anyio.run(measure, options, kb)
    result = {
        name: {"p50": round(float(np.percentile(values, 50)), 2), "p99": round(float(np.percentile(values, 99)), 2)}
        | {"n": len(values)}
        for name, values in figures.items()
    }
    if options.json:
        print(json.dumps(result))
        return
    for name, figure in result.items():
        print(f"{name:31} p50 {figure['p50']:6.2f} ms   p99 {figure['p99']:6.2f} ms   n {figure['n']}")


if __name__ == "__main__":
    main()
