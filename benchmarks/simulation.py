"""Calls against coverage of the executors, over policies and thresholds; writes the tables of simulation.md.

    python benchmarks/simulation.py [--root knowledge_base] [--state-dir .kbapp] [--tasks benchmarks/tasks.jsonl]
        [--new-words 4 …] [--closeness 3 …] [--policies block …] [--asks-again 0.6 …]

Each text is embedded once, so that many runs over the same tasks cost little.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder
from kbapp.bootstrap import open_knowledge_base
from kbapp.domain import action_memory
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.plan_rules import CLOSENESS_WEIGHT, NEW_WORDS, Rules
from kbapp.domain.ports import Embedder, Vectors
from kbapp.domain.simulation_metrics import SimulationMetrics
from kbapp.domain.tasks import Task, parse_tasks
from kbapp.service.constrained_executor import ConstrainedExecutor
from kbapp.service.executor import Executor, UnconstrainedExecutor
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.simulation import Shelf, simulate
from kbapp.settings import Settings


class RememberingEmbedder:
    """An embedder that embeds no query twice."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, Vectors] = {}
        self.model_id, self.dimension = embedder.model_id, embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            if text not in self._rows:
                self._rows[text] = self._embedder.embed_queries([text])[0]
        return np.array([self._rows[text] for text in texts])

    sentence_vectors = embed_queries


class ForgetfulTool:
    """The tool without a session: nothing is remembered, as before there was an action memory (ISS-002)."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def lookup(self, query: str, *, session_id: str | None = None, **options: str | None) -> LookupResult:
        del session_id
        return self._kb.lookup(query, **options)


def rows(options: argparse.Namespace, tasks: Sequence[Task]) -> Iterator[tuple[str, SimulationMetrics]]:
    embedder = RememberingEmbedder(open_embedder(EmbeddingOptions(options.model)))
    folders = {"knowledge.base-path": str(options.root.absolute()), "state-dir": str(options.state_dir.absolute())}
    for policy, share in product(options.policies, options.asks_again):
        action_memory.ASKS_AGAIN_SHARE = share
        settings = Settings.load(environ={}, overrides=folders | {"retrieval.dedup.domain-policy": policy})
        with open_knowledge_base(settings, embedder=embedder) as kb:
            kb.refresh()
            shelf = Shelf(kb.base_folder, {record.path for record in kb.documents()})
            executors: list[tuple[str, Executor]] = [("unconstrained", UnconstrainedExecutor(kb))]
            if policy == options.policies[0] and share == options.asks_again[0]:
                yield (
                    "no memory | – | unconstrained",
                    simulate(tasks, UnconstrainedExecutor(ForgetfulTool(kb)), shelf).total,
                )
            for words, closeness in product(options.new_words, options.closeness):
                name = f"constrained {words:g} / {closeness:g}"
                executors.append((name, ConstrainedExecutor(kb, embedder, Rules(words, closeness))))
            for name, executor in executors:
                yield f"{policy} | {share:g} | {name}", simulate(tasks, executor, shelf).total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path("knowledge_base"))
    parser.add_argument("--state-dir", type=Path, default=Path(".kbapp"))
    parser.add_argument("--tasks", type=Path, default=Path("benchmarks/tasks.jsonl"))
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--policies", nargs="+", default=["off", "warn", "block"])
    parser.add_argument("--new-words", nargs="+", type=float, default=[NEW_WORDS])
    parser.add_argument("--closeness", nargs="+", type=float, default=[CLOSENESS_WEIGHT])
    parser.add_argument("--asks-again", nargs="+", type=float, default=[action_memory.ASKS_AGAIN_SHARE])
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    tasks = parse_tasks(options.tasks.read_text(encoding="utf-8"))
    print("| policy | asks again | executor | calls | % of steps | with content | characters | twice | covered | % |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, figures in rows(options, tasks):
        print(
            f"| {name} | {figures.calls} | {100 * figures.calls / figures.steps:.1f} | {figures.calls_with_content}"
            f" | {figures.characters_given:,} | {figures.characters_given_twice}"
            f" | {figures.needed_covered} of {figures.needed} | {100 * figures.needed_covered / figures.needed:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
