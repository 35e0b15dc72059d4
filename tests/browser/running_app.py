"""``kbapp app`` as people start it, over a small knowledge base of its own, with the tiny embedder."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from kbapp.bootstrap import DATABASE_FILE
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents
from tests.processes.milvus_processes import free_port
from tests.waiting import wait_until

DOCUMENTS = {
    "api/payment.md": document("支付网关错误码", "ERR_TIMEOUT, 支付网关", "## 超时类错误\n\n请求超时，重试三次。"),
    "infrastructure/gateway.md": document("接入层手册", "Nginx, 反向代理", "## 代理\n\n反向代理的缓冲区与超时。"),
    "general.md": "# Notes\n\nPlain text without frontmatter about escalation.\n",
}


@dataclass(frozen=True, slots=True)
class RunningApp:
    """A server: its address, the folder of the documents, the file of the telemetry."""

    url: str
    documents: Path
    database: Path

    def select(self, sql: str, *values: str) -> list[tuple[object, ...]]:
        """The rows of a statement; none while the database is not there yet."""
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as c,
        ):
            return c.execute(sql, values).fetchall()
        return []

    def is_indexed(self, text: str) -> bool:
        """Whether a chunk in force holds this text."""
        return bool(self.select("SELECT 1 FROM chunk WHERE instr(content, ?)", text))

    def calls(self, session: str) -> list[tuple[object, ...]]:
        """Query, level and dedup reason of each call of a session, oldest first."""
        return self.select(
            "SELECT query, relevance_level, dedup_reason FROM tool_invocation WHERE session_id = ? ORDER BY created_at",
            session,
        )


@contextmanager
def run_app(folder: Path) -> Iterator[RunningApp]:
    """A server on a free port while the block runs; ended by its process id, its output in ``app.log``."""
    write_documents(folder / "knowledge_base", DOCUMENTS)
    port = free_port()
    with serve_embedder(TinyEmbedder()) as embedding_url, (folder / "app.log").open("wb") as log:
        command = [
            str(Path(sys.executable).with_name("kbapp")),
            *("--root", str(folder / "knowledge_base"), "--state-dir", str(folder / "state")),
            *("app", "--port", str(port), "--no-browser"),
        ]
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(embedding_url), stdout=log, stderr=subprocess.STDOUT
        )
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until(lambda: process.poll() is not None or _answers(url), 60)
            assert process.poll() is None, (folder / "app.log").read_text(encoding="utf-8", errors="replace")
            yield RunningApp(url, folder / "knowledge_base", folder / "state" / DATABASE_FILE)
        finally:
            process.terminate()
            process.wait(30)


def _environment(embedding_url: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("KBAPP_")}
    return own | {"KBAPP_EMBEDDING__MODEL": "openai:tiny", "KBAPP_EMBEDDING__BASE_URL": embedding_url}


def _answers(url: str) -> bool:
    with suppress(OSError, HTTPException), urlopen(f"{url}/_stcore/health", timeout=1) as answer:
        return bool(answer.status == 200)
    return False
