"""What action memory, dedup and telemetry together add to a lookup, in milliseconds.

    python benchmarks/memory.py [--root knowledge_base] [--state-dir .kbapp] [--json]

Keyword lookups, so that the model's time does not hide it: each query runs bare (no session, no row) and as the tool
runs it, in turn, in sessions of ten calls.
"""

from __future__ import annotations

import argparse
import json
import logging
import secrets
import time
from pathlib import Path

import numpy as np

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.headings import parse_headings
from kbapp.service.lookup import LookupRequest
from kbapp.settings import Settings

CALLS_PER_SESSION = 10
ROUNDS = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("knowledge_base"))
    parser.add_argument("--state-dir", type=Path, default=Path(".kbapp"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    folders = {"knowledge.base-path": str(options.root.absolute()), "state-dir": str(options.state_dir.absolute())}
    bare, whole = [], []
    with open_knowledge_base(Settings.load(environ={}, overrides=folders)) as kb:
        lookup = kb._parts.lookup
        queries = [
            keyword
            for entry in kb.entries()
            for keyword in entry.keywords[:1]
            if not lookup.run(LookupRequest(keyword)).invocation.l1_called
        ]
        for number, query in enumerate(queries * ROUNDS):
            if number % CALLS_PER_SESSION == 0:
                session = secrets.token_hex(4)
            parse_headings.cache_clear()
            start = time.perf_counter()
            lookup.run(LookupRequest(query))
            bare_ended = time.perf_counter()
            parse_headings.cache_clear()
            middle = time.perf_counter()
            kb.lookup(query, session_id=session)
            bare.append((bare_ended - start) * 1000)
            whole.append((time.perf_counter() - middle) * 1000)
    added = np.array(whole) - np.array(bare)
    result = {
        "calls": len(added),
        "bare_p50_ms": round(float(np.percentile(bare, 50)), 3),
        "whole_p50_ms": round(float(np.percentile(whole, 50)), 3),
        "added_p50_ms": round(float(np.percentile(added, 50)), 3),
        "added_p99_ms": round(float(np.percentile(added, 99)), 3),
    }
    print(json.dumps(result) if options.json else "\n".join(f"{name:14} {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
