"""The figures of ``benchmarks/l0.py`` as rows: time of a match by kind of query, of a build and a change, and memory.

python benchmarks/l0_rows.py [--scale tiny|quick|full] [--json]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import Options, Row, Target, run_apart, run_group, significant

ENTRIES = {"tiny": (200, 400, 800), "quick": (1_000, 5_000, 10_000, 50_000), "full": (1_000, 5_000, 20_000, 50_000)}
KINDS = {"short": "15 characters", "long": "200 characters", "mistyped": "one mistyped word"}
TARGETS = {
    ("short", 1_000): Target("p99", 0.2),
    ("long", 1_000): Target("p99", 0.2),
    ("long", 50_000): Target("p99", 2),
    ("memory", 1_000): Target("p50", 3),
    ("memory", 50_000): Target("p50", 120),
}


def keyword_index(options: Options) -> Iterator[Row]:
    sizes = map(str, ENTRIES[options.scale])
    results: Any = run_apart(Path(__file__).with_name("l0.py"), "--json", "--entries", *sizes)
    for figures in results:
        entries = figures["entries"]
        size = (entries, "documents")
        for kind, text in KINDS.items():
            times = figures[f"match_{kind}_ms"]
            yield fixed(f"L0 match, {text}", size, "ms", times["p50"], times["p99"], TARGETS.get((kind, entries)))
        yield fixed("L0 one document changed", size, "ms", figures["put_ms"]["p50"], figures["put_ms"]["p99"])
        yield fixed("L0 built anew", size, "ms", figures["build_ms"])
        yield fixed("L0 resident memory", size, "MB", figures["index_rss_mb"], target=TARGETS.get(("memory", entries)))


def fixed(
    name: str, size: tuple[int, str], unit: str, p50: float, p99: float | None = None, target: Target | None = None
) -> Row:
    """A row of figures that another script has worked out."""
    meets = target.is_met({"p50": p50, "p99": p99}) if target else None
    values = significant(p50) or 0.0, significant(p99)
    return Row(name, *size, unit, 1, *values, target=str(target) if target else None, meets=meets)


if __name__ == "__main__":
    run_group((keyword_index,), __doc__)
