"""How long the page Telemetry asks the database, with many rows. Milliseconds, wall and processor.

    python benchmarks/telemetry.py [--rows 100000] [--state-dir FOLDER] [--like FOLDER] [--json]

The rows are those of real lookups on the sample, varied (`benchmarks/telemetry_rows.py`); `--like` takes the rows of
another state folder as the pattern instead. A `--state-dir` that has rows is measured as it is.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from telemetry_rows import fill, real_rows, varied_rows

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.telemetry_summary import CallStatistics
from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.invocation import TOOL_NAME, Invocation
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import InvocationFilter
from kbapp.domain.telemetry_export import csv_lines
from kbapp.surfaces.ui.telemetry_sql import PRESETS
from kbapp.surfaces.ui.telemetry_table import EXPORT_ROWS, PAGE_SIZE

DAYS = 90


def measured(call: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor milliseconds of the quicker of two runs."""
    runs = []
    for _ in range(2):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        runs.append(((time.perf_counter() - wall) * 1000, (time.process_time() - processor) * 1000))
    return min(runs)


def templates(like: Path | None) -> list[list[Invocation]]:
    if like is None:
        return real_rows(Path("knowledge_base"))
    sessions = defaultdict(list)
    for row in InvocationLog(Database(like / DATABASE_FILE)).stream(InvocationFilter(limit=5000, tool_name=TOOL_NAME)):
        sessions[row.session_id].insert(0, row)
    return list(sessions.values())


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
        "last rows": lambda: log.rows(rows(PAGE_SIZE, max(0, count - PAGE_SIZE))),
        "figures of 7 days": lambda: statistics.summary(InvocationFilter(since=week)),
        "figures of one level": lambda: statistics.summary(InvocationFilter(levels=high)),
        **{f"sql: {name}": lambda sql=sql: log.select(sql) for name, sql in PRESETS.items()},
        "csv": lambda: sum(len(line) for line in csv_lines(log.stream(rows(EXPORT_ROWS)))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--state-dir", type=Path)
    parser.add_argument("--like", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        state = options.state_dir or Path(folder)
        database = Database(state / DATABASE_FILE)
        if not CallStatistics(database).recent_sessions(1):
            fill(state, varied_rows(templates(options.like), options.rows, DAYS))
        count = CallStatistics(database).summary(InvocationFilter()).calls
        figures = {name: measured(call) for name, call in steps(database, count).items()}
        database.close()
    page = [sum(values) for values in zip(*(v for k, v in figures.items() if k.startswith("page: ")), strict=True)]
    figures["page in all"] = (page[0], page[1])
    if options.json:
        print(json.dumps({"rows": count, "milliseconds": figures}))
        return
    print(f"{count} calls: milliseconds (of the processor)")
    for name, (wall, processor) in figures.items():
        print(f"  {name:30} {wall:8.0f} ({processor:.0f})")


if __name__ == "__main__":
    main()
