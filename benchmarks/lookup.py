"""What a lookup costs over its raw parts: one embedding and one pymilvus search of the same query.

    python benchmarks/lookup.py [--root knowledge_base] [--state-dir .kbapp] [--queries FILE] [--json]

Each query is measured in turn, raw and whole, so that a change of the machine's speed meets both alike. Milliseconds.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder
from kbapp.adapters.milvus_engine import LocalEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.bootstrap import open_knowledge_base
from kbapp.service.lookup import LookupRequest
from kbapp.settings import Settings


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("knowledge_base"))
    parser.add_argument("--state-dir", type=Path, default=Path(".kbapp"))
    parser.add_argument("--queries", type=Path, default=Path("benchmarks/sample_queries.jsonl"))
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    folders = {"knowledge.base-path": str(options.root.absolute()), "state-dir": str(options.state_dir.absolute())}
    settings = Settings.load(environ={}, overrides=folders | {"embedding.model": options.model})
    queries = [json.loads(line)["query"] for line in options.queries.read_text(encoding="utf-8").splitlines()]
    embedder = open_embedder(EmbeddingOptions(options.model))
    engine = LocalEngine(options.state_dir)
    index = MilvusIndex(engine, model=embedder, base_folder=options.root.name)
    with open_knowledge_base(settings) as kb:
        kb.reindex()
        chunk_count = len(index.chunk_ids())
        collection = index.collection_name()
        from pymilvus import MilvusClient

        client = MilvusClient(engine.connect(), timeout=10, dedicated=True)

        def raw_parts(query: str) -> None:
            vector = embedder.embed_queries([query])[0].tolist()
            client.search(
                collection,
                data=[vector],
                limit=settings.retrieval.l1.candidates,
                output_fields=["id"],
                search_params={"metric_type": "L2"},
            )

        figures: dict[str, list[float]] = {"raw": [], "lookup": [], "l0 only": [], "overhead": []}
        for query in [*queries[:5], *queries]:
            raw = milliseconds(lambda: raw_parts(query))  # noqa: B023 - called at once
            start = time.perf_counter()
            _, invocation = kb.explained_lookup(LookupRequest(query))
            whole = (time.perf_counter() - start) * 1000
            if not invocation.l1_called:
                figures["l0 only"].append(whole)
                continue
            figures["raw"].append(raw)
            figures["lookup"].append(whole)
            figures["overhead"].append(whole - raw)
        client.close()
    index.close()
    result = {"model": options.model, "chunks": chunk_count} | {
        name: {
            "p50": round(float(np.percentile(values[5:], 50)), 2),
            "p99": round(float(np.percentile(values[5:], 99)), 2),
            "n": len(values[5:]),
        }
        for name, values in figures.items()
    }
    if options.json:
        print(json.dumps(result))
        return
    print(f"{chunk_count} chunks, {options.model}")
    for name in figures:
        print(f"{name:10} p50 {result[name]['p50']:8.2f} ms   p99 {result[name]['p99']:8.2f} ms")  # type: ignore[index]


if __name__ == "__main__":
    main()
