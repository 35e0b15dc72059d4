"""What chunk size, overlap and breadcrumbs do to retrieval: each variant is indexed and evaluated as `kbapp eval` does.

    python benchmarks/chunking.py ROOT QUERIES STATE_DIR [--variant SIZE:OVERLAP:BREADCRUMB]...

Each variant has a folder of its own in STATE_DIR, so that a second run embeds nothing. A variant without breadcrumb
embeds the text of the chunk alone (`500:0:no`); it must come last, or be run alone.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.chunking import ChunkingOptions
from kbapp.domain.documents import Chunk, Document
from kbapp.domain.retrieval_metrics import Rate
from kbapp.service import chunker
from kbapp.service.evaluation import evaluate, read_labels
from kbapp.service.evaluation_report import report_of
from kbapp.settings import Settings

VARIANTS = ("500:0:yes", "250:0:yes", "1000:0:yes", "500:100:yes", "500:0:no")


def without_breadcrumbs() -> None:
    """From now on a chunk is embedded without the line of headings in front."""
    split = chunker.split_document

    def bare(document: Document, options: ChunkingOptions) -> tuple[Chunk, ...]:
        return tuple(replace(chunk, embedded_text=chunk.content) for chunk in split(document, options))

    chunker.split_document = bare


def share(rate: Rate) -> str:
    return f"{rate.count}/{rate.of}"


def line_of(root: Path, queries: Path, state_dir: Path, variant: str) -> str:
    size, overlap, breadcrumb = variant.split(":")
    if breadcrumb == "no":
        without_breadcrumbs()
    overrides = {
        "knowledge.base-path": str(root.absolute()),
        "state-dir": str((state_dir / variant.replace(":", "-")).absolute()),
        "chunking.max-characters": size,
        "chunking.overlap-characters": overlap,
    }
    with open_knowledge_base(Settings.load(environ={}, overrides=overrides)) as kb:
        chunks = kb.reindex().chunks
        report = report_of(evaluate(kb, read_labels(queries.read_text(encoding="utf-8"), kb)))
    given, ranking, highly = report.given.overall, report.ranking, report.in_topic_highly_or_better
    paraphrase = next((figures for kind, figures in ranking.kinds.items() if kind.value == "paraphrase"), None)
    above = [rate.count for level, rate in report.offtopic.levels.items() if level and level.value != "REFERENCE"]
    return (
        f"{variant}: {chunks} chunks; right first {share(given.documents.recall[1])}, evidence {share(given.evidence)},"
        f" heading {share(given.heading)}; MRR@10 {ranking.overall.mrr.value:.3f};"
        f" paraphrases R@5 {share(paraphrase.recall[5]) if paraphrase else '-'};"
        f" right at HIGHLY_RELEVANT or better, without paraphrases {share(highly.without_paraphrase)};"
        f" off-topic HIGHLY_RELEVANT or better {sum(above)}/{report.offtopic.queries}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("state_dir", type=Path)
    parser.add_argument("--variant", action="append", help=f"of {', '.join(VARIANTS)} and the like")
    options = parser.parse_args()
    for variant in options.variant or VARIANTS:
        print(line_of(options.root, options.queries, options.state_dir, variant), flush=True)


if __name__ == "__main__":
    main()
