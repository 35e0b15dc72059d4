"""What indexing costs: with the bundled model beside the model alone, and everything else with an embedder for nothing.

    python benchmarks/indexing.py [--scale tiny|quick|full] [--work FOLDER] [--json]

The texts are real sections. Both ways embed the same kind of texts in turn, in rounds, each in a part of the time.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpora import CHUNK_CHARACTERS, SEED, ClusteredEmbedder, Section, real_source, real_space
from measure import Options, Row, Target, row, run_group
from prepared import opened, settings_for, warm_up, with_documents

from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder
from kbapp.bootstrap import open_knowledge_base
from kbapp.service.knowledge_base import KnowledgeBase

ROUNDS = {"tiny": 2, "quick": 6, "full": 12}
SECTIONS = {"tiny": 4, "quick": 36, "full": 60}  # of one round: some five seconds each way
CHUNKS = {"tiny": (100, 200, 400), "quick": (500, 1_000, 2_000), "full": (1_000, 2_000, 5_000, 10_000)}
SECTIONS_OF_DOCUMENT = 4


class Counting:
    """An embedder that keeps the texts it was given."""

    def __init__(self, embedder: ClusteredEmbedder) -> None:
        self._embedder = embedder
        self.model_id, self.dimension = embedder.model_id, embedder.dimension
        self.texts: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> object:
        return self._embedder.embed_queries(texts)

    def embed_passages(self, texts: Sequence[str]) -> object:
        self.texts += texts
        return self._embedder.embed_passages(texts)


def with_the_model(options: Options) -> Iterator[Row]:
    """New documents through ``refresh``, and as much text of the same sections through the model alone."""
    folder = options.work / "indexing"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "knowledge_base").mkdir(parents=True)
    some = random.Random(SEED)
    sections = [section for section in real_source().sections if len(section.text) >= 80]
    alone = open_embedder(EmbeddingOptions(default_model()))
    counting = Counting(ClusteredEmbedder(real_space()))
    ours, raw, characters = [], [], 0
    with open_knowledge_base(settings_for(folder)) as kb:
        warm_up(kb)
        alone.embed_passages(["once"])
        for number in range(ROUNDS[options.scale]):
            chosen = some.sample(sections, SECTIONS[options.scale])
            texts = texts_of(options, counting, chosen, number)
            characters += sum(map(len, texts))
            ways = [lambda c=chosen, n=number: add(kb, folder, c, n), lambda t=texts: alone.embed_passages(t)]
            seconds = {}
            for way in (0, 1) if number % 2 else (1, 0):
                start = time.perf_counter()
                ways[way]()
                seconds[way] = time.perf_counter() - start
            ours.append(len(texts) / seconds[0])
            raw.append(len(texts) / seconds[1])
        chunks = sum(record.chunk_count for record in kb.documents())
    yield row(
        "indexing with the bundled model",
        (chunks, "chunks"),
        "chunks/s",
        ours,
        raw=("the model alone on the same texts", raw),
        target=Target("ratio", 0.9, at_least=True),
        note=f"{characters / max(1, chunks):.0f} characters a chunk",
    )


def texts_of(options: Options, counting: Counting, chosen: list[Section], number: int) -> list[str]:
    """The texts that a round embeds, as kbapp cuts them."""
    folder = options.work / "indexing-texts"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "knowledge_base").mkdir(parents=True)
    counting.texts.clear()
    with open_knowledge_base(settings_for(folder), embedder=counting) as kb:
        add(kb, folder, chosen, number)
    return list(counting.texts)


def add(kb: KnowledgeBase, folder: Path, sections: list[Section], number: int) -> None:
    for start in range(0, len(sections), SECTIONS_OF_DOCUMENT):
        part = sections[start : start + SECTIONS_OF_DOCUMENT]
        body = "\n\n".join(f"## {section.heading}\n\n{section.text[:CHUNK_CHARACTERS]}" for section in part)
        file = folder / "knowledge_base" / f"round-{number}-{start}.md"
        file.write_text(f"---\ntitle: Round {number} {start}\n---\n\n{body}\n", encoding="utf-8")
    kb.refresh()


def everything_else(options: Options) -> Iterator[Row]:
    """Reading, chunking, SQLite, full text and Milvus, from nothing; the vectors are there at once."""
    for chunks in CHUNKS[options.scale]:
        folder = with_documents(options, chunks // 5)
        own = options.work / "indexing-all"
        rates = []
        for _ in range(2 if options.scale == "tiny" else 3):
            shutil.rmtree(own, ignore_errors=True)
            shutil.copytree(folder / "knowledge_base", own / "knowledge_base")
            with opened(own) as kb:
                start = time.perf_counter()
                report = kb.refresh()
                rates.append(report.chunks / (time.perf_counter() - start))
        yield row("indexing without the model", (chunks, "chunks"), "chunks/s", rates)
    shutil.rmtree(own, ignore_errors=True)


if __name__ == "__main__":
    run_group((with_the_model, everything_else), __doc__)
