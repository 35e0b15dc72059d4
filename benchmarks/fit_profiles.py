"""Fit a model's relevance profile on labelled queries, and say how it carries over to a corpus that it has not seen.

    python benchmarks/fit_profiles.py [--model MODEL] [--fusion-weight W] [--corpus ROOT QUERIES STATE_DIR]...

Without --corpus it takes the sample knowledge base. Prints the constants for `kbapp/adapters/profiles.py`, fitted on
all corpora; with two or more also the check that counts: weights fitted on the others, cuts by the probe queries on
the corpus itself, so that nothing about it was looked at.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kbapp import bootstrap
from kbapp.adapters.embedders import default_model
from kbapp.adapters.profiles import profile_for
from kbapp.domain.level_cuts import cuts_of
from kbapp.domain.logistic import fit_logistic
from kbapp.domain.relevance import EvidenceProfile, evidence_terms
from kbapp.probes import probe_queries
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings

SAMPLE = ["knowledge_base", "benchmarks/sample_queries.jsonl", ".kbapp"]
TERMS = ("cosine", "coverage", "unknown", "found", "runs", "agreement")

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Considered:
    """What L1 considers for one query: documents and their features, best first."""

    kind: str
    relevant: tuple[str, ...]
    documents: tuple[str, ...]
    features: Matrix

    @property
    def is_right(self) -> bool:
        return self.documents[:1] != () and self.documents[0] in self.relevant


def considered(kb: KnowledgeBase, query: str, kind: str, relevant: tuple[str, ...]) -> Considered:
    found = kb.considered(query)
    candidates = found.candidates[: found.top_k]
    features = np.array([evidence_terms(candidate.evidence) for candidate in candidates]).reshape(-1, len(TERMS))
    return Considered(kind, relevant, tuple(candidate.stored.path for candidate in candidates), features)


def kind_of(label: dict[str, str]) -> str:
    is_trap = label["kind"] == "offtopic" and "trap" in (label.get("note") or "").lower()
    return "trap" if is_trap else label["kind"]


def read_corpus(model: str, root: Path, queries: Path, state_dir: Path) -> tuple[list[Considered], list[Considered]]:
    """What is considered for the labelled queries and for the probes."""
    overrides = {
        "knowledge.base-path": str(root.absolute()),
        "state-dir": str(state_dir.absolute()),
        "embedding.model": model,
    }
    with bootstrap.open_knowledge_base(Settings.load(environ={}, overrides=overrides)) as kb:
        kb.reindex()
        labels = [json.loads(line) for line in queries.read_text(encoding="utf-8").splitlines() if line]
        rows = [considered(kb, label["query"], kind_of(label), tuple(label["relevant"])) for label in labels]
        probes = [considered(kb, probe, name, ()) for name, group in probe_queries().items() for probe in group]
    return rows, probes


def fitted(rows: list[Considered]) -> Matrix:
    with_answer = [row for row in rows if len(row.features)]
    features = np.array([row.features[0] for row in with_answer])
    weights, bias = fit_logistic(features, np.array([float(row.is_right) for row in with_answer]))
    return np.r_[weights, bias]


def scores(weights: Matrix, row: Considered) -> Matrix:
    return row.features @ weights[:-1] + weights[-1]


def held_out(weights: Matrix, rows: list[Considered], probes: list[Considered]) -> str:
    """How the levels come out, by cuts from the probes; the first of the best level is given, L0 left out."""
    low, high = cuts_of([max(scores(weights, probe), default=-math.inf) for probe in probes])
    counts = dict.fromkeys(("in", "in highly", "para", "para highly", "para right", "highly", "highly right"), 0)
    counts |= dict.fromkeys(("off", "off highly", "off nothing"), 0)
    for row in rows:
        levels = [2 if score >= high else 1 if score >= low else 0 for score in scores(weights, row)]
        best = max(levels, default=0)
        right = best > 0 and row.documents[levels.index(best)] in row.relevant
        if row.kind == "trap":
            continue
        if row.kind == "offtopic":
            counts["off"] += 1
            counts["off highly"] += best == 2
            counts["off nothing"] += best == 0
        else:
            name = "para" if row.kind == "paraphrase" else "in"
            counts[name] += 1
            counts[f"{name} highly"] += right and best == 2
            counts["para right"] += right and name == "para"
        counts["highly"] += best == 2
        counts["highly right"] += right and best == 2
    return (
        f"cuts {low:.2f} and {high:.2f};"
        f" right at HIGHLY_RELEVANT {counts['in highly']}/{counts['in']} without paraphrases,"
        f" {counts['para highly']}/{counts['para']} paraphrases ({counts['para right']} right at any level);"
        f" HIGHLY_RELEVANT right {counts['highly right']}/{counts['highly']}; off-topic HIGHLY_RELEVANT"
        f" {counts['off highly']}/{counts['off']}, nothing {counts['off nothing']}/{counts['off']}"
    )


def use_fusion_weight(weight: float) -> None:
    """Order documents by this weight in place of the one of the model's profile."""

    def profile(model_id: str) -> object:
        known = profile_for(model_id)
        return replace(known, fusion_weight=weight) if isinstance(known, EvidenceProfile) else known

    bootstrap.profile_for = profile  # type: ignore[assignment]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--fusion-weight", type=float)
    parser.add_argument("--corpus", nargs=3, action="append", metavar=("ROOT", "QUERIES", "STATE_DIR"))
    options = parser.parse_args()
    if options.fusion_weight is not None:
        use_fusion_weight(options.fusion_weight)
    corpora = [[Path(part) for part in corpus] for corpus in options.corpus or [SAMPLE]]
    read = [read_corpus(options.model, *corpus) for corpus in corpora]
    weights = fitted([row for rows, _ in read for row in rows])
    print(", ".join(f"{name}_weight={value:.2f}" for name, value in zip(TERMS, weights[:-1], strict=True)), end=", ")
    print(f"bias={weights[-1]:.2f}")
    for place, (corpus, (rows, probes)) in enumerate(zip(corpora, read, strict=True)):
        in_topic = [row for row in rows if row.relevant]
        first = f"{sum(row.is_right for row in in_topic)}/{len(in_topic)} right first"
        print(f"{corpus[1]}: {first}; fitted on all: {held_out(weights, rows, probes)}")
        others = [row for other, (found, _) in enumerate(read) if other != place for row in found]
        if others:
            print(f"  not seen: {held_out(fitted(others), rows, probes)}")


if __name__ == "__main__":
    main()
