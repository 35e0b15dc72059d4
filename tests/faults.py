"""Sources that fail when they are told to."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.circuit_breaker import BreakerKind
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.invocation import Invocation
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.ports import Vectors
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

DOCUMENTS = {
    "api/timeout.md": document("支付超时", "ERR_TIMEOUT", "## 重试\n\n支付网关超时以后最多重试三次，间隔两秒。"),
    "api/refund.md": document("退款", "退款流程", "## 到账\n\n退款通常三天到账，银行卡退款可能更慢。"),
    "ops/pool.md": document("连接池", "maxPoolSize", "## 大小\n\n连接池大小设为核数的两倍，超时设为五秒。"),
}
QUESTION = "银行卡退款多久到账"
NEW = document("新文档", "新词", "这份文档讲的是对账单。").encode()
OTHER_QUESTION = "连接池大小设为多少"


class FaultyEmbedder(TinyEmbedder):
    """``fault``: takes the place of embedding a query while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: Callable[[], Vectors] | None = None
        self.queries = 0

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.queries += 1
        return self.fault() if self.fault else super().embed_queries(texts)


def failing(error: Exception) -> Callable[[], Vectors]:
    def fail() -> Vectors:
        raise error

    return fail


Fault = Callable[[Sequence[str]], object]


def raising(error: Exception) -> Fault:
    def fail(_texts: Sequence[str]) -> object:
        raise error

    return fail


BAD_EMBEDDINGS: dict[str, Fault] = {
    "unavailable": raising(IndexUnavailable("the endpoint is down")),
    "exception": raising(RuntimeError("CUDA error")),
    "out of memory": raising(MemoryError()),
    "timeout": raising(TimeoutError("timed out")),
    "no rows": lambda _texts: np.empty((0, 64), np.float32),
    "too many rows": lambda texts: np.eye(64, dtype=np.float32)[: len(texts) + 1],
    "another dimension": lambda texts: np.eye(63, dtype=np.float32)[: len(texts)],
    "flat": lambda _texts: np.eye(64, dtype=np.float32)[0],
    "nan": lambda texts: np.full((len(texts), 64), np.nan, np.float32),
    "infinite": lambda texts: np.full((len(texts), 64), np.inf, np.float32),
    "zero": lambda texts: np.zeros((len(texts), 64), np.float32),
    "not of unit length": lambda texts: np.full((len(texts), 64), 2.0, np.float32),
    "text": lambda _texts: "vectors",
    "nothing": lambda _texts: None,
}


class BadEmbedder(FaultyEmbedder):
    """Gives what ``bad`` makes of the texts while it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: Fault | None = None

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.bad(texts) if self.bad else super().embed_queries(texts)  # type: ignore[return-value]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self.bad(texts) if self.bad else super().embed_passages(texts)  # type: ignore[return-value]


class Hanging:
    """A call that hangs until it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.calls = 0

    def __call__(self) -> Vectors:
        self.calls += 1
        self.let_go.wait()
        raise RuntimeError("let go")


@contextmanager
def database_of(folder: Path) -> Iterator[sqlite3.Connection]:
    """The product's database, by a connection of another program."""
    connection = sqlite3.connect(folder / "state" / DATABASE_FILE, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def break_full_text(folder: Path) -> None:
    """Full text fails from now on, also for words whose scores are held in memory until a chunk changes."""
    with database_of(folder) as connection:
        connection.execute("INSERT INTO chunk_change (chunk_id) VALUES ('x')")
        connection.execute("ALTER TABLE chunk_fts RENAME TO chunk_fts_away")


def mend_full_text(folder: Path) -> None:
    with database_of(folder) as connection:
        connection.execute("ALTER TABLE chunk_fts_away RENAME TO chunk_fts")


def opened(folder: Path, embedder: FaultyEmbedder, **settings: str) -> KnowledgeBase:
    write_documents(folder / "knowledge_base", DOCUMENTS)
    kb = open_for_test(folder, embedder, **settings)
    kb.reindex()
    return kb


def asked(kb: KnowledgeBase, query: str = QUESTION, session: str | None = None) -> tuple[LookupResult, Invocation]:
    return kb.explained_lookup(LookupRequest(query, session))


def substance(result: LookupResult) -> dict[str, object]:
    """A result without its own id."""
    return result.to_dict() | {"invocationId": ""}


def kinds(kb: KnowledgeBase) -> list[BreakerKind]:
    return [source.kind for source in kb.overview().sources]
