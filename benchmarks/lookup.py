"""A whole lookup and its parts, through Milvus Lite and with the read replica in memory, beside what they consist of.

    python benchmarks/lookup.py [--scale tiny|quick|full] [--work FOLDER] [--json]

The queries are real ones that L0 does not answer; their vectors are known beforehand, except in ``with_embedding``.
``read replica`` is left out where this kbapp has none; both ways are open at once and measured in turn.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from corpora import Vectors, real_source, real_space
from measure import Options, Row, Target, interleaved, row, run_group
from prepared import (
    FULL_TEXT_SQL,
    has_replica,
    indexed,
    match_expression,
    nearest,
    opened,
    settings_for,
    stored_vectors,
    warm_up,
)

from kbapp.bootstrap import DATABASE_FILE, open_knowledge_base
from kbapp.domain.tokens import content_tokens
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest

CHUNKS = {
    "tiny": (100, 200, 400),
    "quick": (1_000, 2_000, 5_000, 10_000),
    "full": (2_000, 10_000, 50_000, 100_000),
}
EMBEDDED_CHUNKS = {"tiny": 100, "quick": 2_000, "full": 10_000}
QUERIES = {"tiny": 12, "quick": 120, "full": 170}
LIMIT = 50  # retrieval.l1.candidates
CALLS_PER_SESSION = 10
LITE, REPLICA = "Milvus Lite", "read replica"
WHOLE_TARGETS = {(LITE, 2_000): 8.0, (LITE, 10_000): 20.0, (REPLICA, 2_000): 3.0, (REPLICA, 10_000): 5.0}
LEG_CHUNKS = 50_000


@dataclass(frozen=True)
class Raw:
    """What a lookup consists of, without kbapp: a pymilvus client, the vectors in an array, SQLite."""

    search_milvus: Callable[[Vectors], object]
    vectors: Vectors
    database: sqlite3.Connection

    def search_numpy(self, vector: Vectors) -> object:
        return nearest(self.vectors, vector, LIMIT)

    def search_text(self, query: str) -> object:
        return self.database.execute(FULL_TEXT_SQL, (match_expression(content_tokens(query)), LIMIT)).fetchall()


@contextmanager
def both_ways(folder: Path) -> Iterator[tuple[dict[str, KnowledgeBase], Raw]]:
    """Through Milvus Lite and, where there is one, the read replica, warm, and the raw parts."""
    with ExitStack() as stack:
        bases = {LITE: stack.enter_context(opened(folder, replica=False))}
        if has_replica():
            bases[REPLICA] = stack.enter_context(opened(folder, replica=True))
        for kb in bases.values():
            warm_up(kb)
        yield bases, stack.enter_context(raw_parts(folder))


@contextmanager
def raw_parts(folder: Path) -> Iterator[Raw]:
    from pymilvus import MilvusClient

    uri = json.loads((folder / "state" / "milvus.address").read_text(encoding="utf-8"))["uri"]
    _, vectors = stored_vectors(folder)
    with (
        closing(MilvusClient(uri, timeout=10, dedicated=True)) as client,
        closing(sqlite3.connect(folder / "state" / DATABASE_FILE)) as database,
    ):
        (collection,) = client.list_collections()

        def search(vector: Vectors) -> object:
            parameters = {"metric_type": "L2"}
            return client.search(
                collection, data=[vector.tolist()], limit=LIMIT, output_fields=["id"], search_params=parameters
            )

        yield Raw(search, vectors, database)


def wanted_queries(options: Options, kb: KnowledgeBase) -> list[str]:
    """Real ones that come to L1, again and again until there are enough."""
    asked = [query for query in real_source().queries if kb.explained_lookup(LookupRequest(query))[1].l1_called]
    count = QUERIES[options.scale]
    return (asked * (count // len(asked) + 1))[:count]


def whole_lookup(options: Options) -> Iterator[Row]:
    """A lookup with its telemetry row, the vector of the query being known."""
    known = real_space().known
    for chunks in CHUNKS[options.scale]:
        with both_ways(indexed(options, chunks)) as (bases, raw):
            queries = wanted_queries(options, bases[LITE])
            ways: dict[str, Callable[[str], object]] = {name: kb.lookup for name, kb in bases.items()}
            ways["one pymilvus search"] = lambda query, raw=raw: raw.search_milvus(known[query])
            ways["numpy + FTS5"] = lambda query, raw=raw: (raw.search_numpy(known[query]), raw.search_text(query))
            times = interleaved(ways, queries)
        for name in bases:
            bound = WHOLE_TARGETS.get((name, chunks))
            raw_name = "one pymilvus search" if name == LITE else "numpy + FTS5"
            yield row(
                f"lookup without embedding, {name}",
                (chunks, "chunks"),
                "ms",
                times[name],
                raw=(raw_name, times[raw_name]),
                target=Target("p50", bound) if bound else None,
            )


def vector_leg(options: Options) -> Iterator[Row]:
    """The nearest chunks of a query vector alone."""
    for chunks in CHUNKS[options.scale]:
        with both_ways(indexed(options, chunks)) as (bases, raw):
            vectors = [real_space().known[query] for query in wanted_queries(options, bases[LITE])]
            ways = {name: vector_search(kb) for name, kb in bases.items()}
            ways |= {"one pymilvus search": raw.search_milvus, "exact numpy": raw.search_numpy}
            times = interleaved(ways, vectors)
        local = list(bases)[-1]  # what a local knowledge base is searched by
        for name in (*bases, "one pymilvus search"):
            yield row(
                f"vector leg, {name}",
                (chunks, "chunks"),
                "ms",
                times[name],
                raw=("exact numpy", times["exact numpy"]),
                target=Target("ratio", 3) if name == local and chunks == LEG_CHUNKS else None,
            )


def vector_search(kb: KnowledgeBase) -> Callable[[Vectors], object]:
    port = kb._parts.lookup._search._vectors  # no surface searches vectors alone
    return lambda vector: port.search(vector, LIMIT)


def with_embedding(options: Options) -> Iterator[Row]:
    """The same with the bundled model, as an installed kbapp is, beside one embedding and one search."""
    chunks = EMBEDDED_CHUNKS[options.scale]
    folder = indexed(options, chunks)
    with open_knowledge_base(settings_for(folder)) as kb, opened(folder, replica=False) as lite:
        warm_up(kb)
        warm_up(lite)
        embed = kb._parts.embedder.embed_queries
        with raw_parts(folder) as raw:
            ways: dict[str, Callable[[str], object]] = {
                "lookup": kb.lookup,
                "embed": lambda query: embed([query]),
                "embed + pymilvus search": lambda query: raw.search_milvus(embed([query])[0]),
            }
            times = interleaved(ways, wanted_queries(options, lite))
    yield row(
        "lookup with the bundled model",
        (chunks, "chunks"),
        "ms",
        times["lookup"],
        raw=("embed + pymilvus search", times["embed + pymilvus search"]),
        target=Target("p99", 45),
    )
    yield row("one query embedded", (chunks, "chunks"), "ms", times["embed"])


def memory_and_telemetry(options: Options) -> Iterator[Row]:
    """Keyword lookups as the tool runs them, in sessions of ten, beside the same without session, dedup and row."""
    chunks = EMBEDDED_CHUNKS[options.scale]
    with opened(indexed(options, chunks)) as kb:
        keywords = [entry.keywords[0] for entry in kb.entries() if entry.keywords][: QUERIES[options.scale]]
        lookup = kb._parts.lookup
        asked = [word for word in keywords if not lookup.run(LookupRequest(word)).invocation.l1_called]
        sessions = iter([secrets.token_hex(4) for _ in range(len(asked) // CALLS_PER_SESSION + 2)])
        calls = 0
        session = ""

        def whole(query: str) -> None:
            nonlocal calls, session
            if calls % CALLS_PER_SESSION == 0:
                session = next(sessions)
            calls += 1
            kb.lookup(query, session_id=session)

        ways = {"whole": whole, "bare": lambda query: lookup.run(LookupRequest(query))}
        times = interleaved(ways, asked)
    yield row(
        "keyword lookup with memory and telemetry",
        (chunks, "chunks"),
        "ms",
        times["whole"],
        raw=("without", times["bare"]),
    )


if __name__ == "__main__":
    run_group((whole_lookup, vector_leg, with_embedding, memory_and_telemetry), __doc__)
