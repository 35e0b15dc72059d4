"""How long the page Telemetry asks the database, with many rows.

    python benchmarks/telemetry.py [--scale tiny|quick|full] [--json]

The rows are those of lookups on the sample, varied (``benchmarks/telemetry_rows.py``), spread over 90 days.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from corpora import PROJECT, ClusteredEmbedder, real_space
from measure import Options, Row, Target, interleaved, row, run_group
from telemetry_rows import fill, real_rows, varied_rows

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.telemetry_summary import CallStatistics
from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.invocation import TOOL_NAME
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import InvocationFilter
from kbapp.domain.telemetry_export import csv_lines
from kbapp.surfaces.ui.telemetry_sql import PRESETS
from kbapp.surfaces.ui.telemetry_table import EXPORT_ROWS, PAGE_SIZE

ROWS = {
    "tiny": (200, 400, 800),
    "quick": (10_000, 25_000, 50_000, 100_000),
    "full": (100_000, 250_000, 500_000, 1_000_000),
}
DAYS = 90
MILLISECONDS = 300


def steps(database: Database, count: int) -> dict[str, Callable[[], object]]:
    log, statistics = InvocationLog(database), CallStatistics(database)
    week = (datetime.now(UTC) - timedelta(days=7)).isoformat(timespec="milliseconds")
    high = (RelevanceLevel.HIGHLY_RELEVANT,)

    def rows(limit: int, offset: int = 0) -> InvocationFilter:
        return InvocationFilter(limit=limit, offset=offset, tool_name=TOOL_NAME)

    return {
        "page: figures": lambda: statistics.summary(InvocationFilter()),
        "page: sessions to choose from": lambda: statistics.recent_sessions(100),
        "page: first rows": lambda: log.rows(rows(PAGE_SIZE)),
        "page: last rows": lambda: log.rows(rows(PAGE_SIZE, max(0, count - PAGE_SIZE))),
        "page: figures of 7 days": lambda: statistics.summary(InvocationFilter(since=week)),
        "page: figures of one level": lambda: statistics.summary(InvocationFilter(levels=high)),
        **{f"sql: {name}": lambda sql=sql: log.select(sql) for name, sql in PRESETS.items()},
        f"csv of {EXPORT_ROWS:,} rows": lambda: sum(len(line) for line in csv_lines(log.stream(rows(EXPORT_ROWS)))),
    }


def page_queries(options: Options) -> Iterator[Row]:
    """One database that grows, asked at each size."""
    templates = real_rows(PROJECT / "knowledge_base", ClusteredEmbedder(real_space()))
    state = options.work / "telemetry"
    (state / DATABASE_FILE).unlink(missing_ok=True)
    made = varied_rows(templates, max(ROWS[options.scale]), DAYS)
    filled = 0
    for count in ROWS[options.scale]:
        fill(state, islice(made, count - filled))
        filled = count
        database = Database(state / DATABASE_FILE)
        try:
            ways = {name: lambda _, call=call: call() for name, call in steps(database, count).items()}
            times = interleaved(ways, range(options.repeats), warm_up=1)
        finally:
            database.close()
        for name, values in times.items():
            target = None if name.startswith("csv") else Target("p50", MILLISECONDS)
            yield row(name, (count, "rows"), "ms", values, target=target)


if __name__ == "__main__":
    run_group((page_queries,), __doc__)
