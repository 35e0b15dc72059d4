"""Fit a provisional relevance profile: log-odds that the best chunk's document is right, from its evidence.

    python benchmarks/fit_profiles.py [--model MODEL] [--corpus ROOT QUERIES STATE_DIR]...

Without --corpus it takes the sample knowledge base. Prints the constants for `kbapp/adapters/profiles.py` and how the
levels come out on the same queries with the thresholds that the off-topic ones give.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kbapp.adapters.embedders import default_model
from kbapp.bootstrap import open_knowledge_base
from kbapp.service.lookup import LookupRequest
from kbapp.settings import Settings

EVIDENCE = ("cosine", "coverage", "unknown_share", "found_terms")
SAMPLE = ["knowledge_base", "benchmarks/sample_queries.jsonl", ".kbapp"]
RIDGE = 0.01
NEWTON_STEPS = 50
REFERENCE_SHARE = 0.08  # of the off-topic queries may become a REFERENCE
HIGHLY_RELEVANT_SHARE = 0.01  # … and HIGHLY_RELEVANT

Matrix = npt.NDArray[np.float64]


def fit_logistic(features: Matrix, labels: Matrix) -> Matrix:
    """Weights and bias of a ridge logistic regression, by Newton's method."""
    mean, scale = features.mean(axis=0), features.std(axis=0)
    rows = np.c_[(features - mean) / scale, np.ones(len(features))]
    penalty = RIDGE * len(rows) * np.diag([1.0] * features.shape[1] + [0.0])
    weights = np.zeros(rows.shape[1])
    for _ in range(NEWTON_STEPS):
        chances = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (chances - labels) + penalty @ weights
        hessian = (rows.T * (chances * (1 - chances))) @ rows + penalty
        weights -= np.linalg.solve(hessian, gradient)
    return np.r_[weights[:-1] / scale, weights[-1] - (weights[:-1] * mean / scale).sum()]


def best_candidates(model: str, root: Path, queries: Path, state_dir: Path) -> list[tuple[str, bool, list[float]]]:
    """(kind, whether the best chunk's document is right, its evidence) of every query."""
    settings = Settings.load(
        environ={},
        overrides={
            "knowledge.base-path": str(root.absolute()),
            "state-dir": str(state_dir.absolute()),
            "embedding.model": model,
            "retrieval.l0.min-coverage": "1",
            "retrieval.l0.common-keyword-share": "0",  # no keyword matches: L1 answers but for titles
            "retrieval.l0.common-keyword-min-entries": "1",
        },
    )
    rows = []
    with open_knowledge_base(settings) as kb:
        kb.reindex()
        for line in queries.read_text(encoding="utf-8").splitlines():
            label = json.loads(line)
            _, invocation = kb.explained_lookup(LookupRequest(label["query"]))
            candidates = invocation.retrieval_details["l1_candidates"]
            if isinstance(candidates, list) and candidates and isinstance(candidates[0], dict):
                best = candidates[0]
                evidence = [float(str(best[name])) for name in EVIDENCE]
                rows.append((label["kind"], best["document"] in label["relevant"], evidence))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--corpus", nargs=3, action="append", metavar=("ROOT", "QUERIES", "STATE_DIR"))
    options = parser.parse_args()
    corpora = [[Path(part) for part in corpus] for corpus in options.corpus or [SAMPLE]]
    rows = [row for root, queries, state in corpora for row in best_candidates(options.model, root, queries, state)]
    kinds = np.array([row[0] for row in rows])
    features = np.array([row[2] for row in rows])
    features[:, 3] = np.log1p(features[:, 3])
    weights = fit_logistic(features, np.array([float(row[1]) for row in rows]))
    logits = features @ weights[:-1] + weights[-1]
    off_topic = np.sort(logits[kinds == "offtopic"])[::-1]
    reference = float(off_topic[int(REFERENCE_SHARE * len(off_topic))])
    highly_relevant = float(off_topic[int(HIGHLY_RELEVANT_SHARE * len(off_topic))])
    print(f"bias={weights[4]:.2f}, cosine_weight={weights[0]:.2f}, coverage_weight={weights[1]:.2f},")
    print(f"unknown_weight={weights[2]:.2f}, found_weight={weights[3]:.2f},")
    print(f"reference_logit={reference:.2f}, highly_relevant_logit={highly_relevant:.2f},")
    for kind in dict.fromkeys(kinds):
        of_kind = logits[kinds == kind]
        right = np.array([row[1] for row in rows])[kinds == kind]
        print(
            f"{kind:10} {len(of_kind):3} queries, best document right {right.sum():3},"
            f" HIGHLY_RELEVANT {int((of_kind > highly_relevant).sum()):3},"
            f" REFERENCE {int(((of_kind > reference) & (of_kind <= highly_relevant)).sum()):3},"
            f" nothing {int((of_kind <= reference).sum()):3}"
        )


if __name__ == "__main__":
    main()
