"""Fills a state folder with telemetry: real lookups on the sample, repeated with other sessions, days and durations.

    python benchmarks/telemetry_rows.py --state-dir FOLDER [--rows 1000] [--days 14] [--root knowledge_base]

Levels, repeats, misses and refusals are those of real calls; of the calls that need the model, one in 25 finds it
failing, so that degraded answers are real ones too.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kbapp.adapters.database import Database
from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.bootstrap import DATABASE_FILE, open_knowledge_base
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import Invocation, clear_invocation
from kbapp.domain.ports import Embedder, Vectors
from kbapp.domain.telemetry import InvocationFilter
from kbapp.service.lookup import LookupRequest
from kbapp.settings import Settings

TASKS = Path(__file__).with_name("tasks.jsonl")
QUERIES = Path(__file__).with_name("sample_queries.jsonl")
NOWHERE = ("周末去哪里爬山", "食堂今天有什么菜", "年假还剩几天", "how to renew a passport", "会议室投影仪密码", "")
FAILS_EVERY = 25


class FailingNowAndThen:
    """The embedder, but one query in ``FAILS_EVERY`` fails."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._calls = 0
        self.model_id, self.dimension = embedder.model_id, embedder.dimension

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self._calls += 1
        if self._calls % FAILS_EVERY == 0:
            raise IndexUnavailable("the embedding endpoint does not answer: semantic search is off")
        return self._embedder.embed_queries(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)


def real_rows(root: Path, embedder: Embedder | None = None) -> list[list[Invocation]]:
    """The rows of one session after the other, each oldest first; by default with the bundled model."""
    sessions = [json.loads(line)["steps"] for line in TASKS.read_text(encoding="utf-8").splitlines()]
    queries = [json.loads(line)["query"] for line in QUERIES.read_text(encoding="utf-8").splitlines()]
    chance = random.Random(7)
    while queries:
        size = min(len(queries), chance.choice((1, 1, 2, 3, 3, 4, 6)))
        sessions.append([*(queries.pop() for _ in range(size)), *chance.sample(NOWHERE, chance.choice((0, 0, 1, 2)))])
    embedder = FailingNowAndThen(embedder or open_embedder(EmbeddingOptions(default_model())))
    with tempfile.TemporaryDirectory() as state:
        folders = {"knowledge.base-path": str(root.absolute()), "state-dir": state}
        with open_knowledge_base(Settings.load(environ={}, overrides=folders), embedder=embedder) as kb:
            kb.reindex()
            for number, steps in enumerate(sessions):
                for step in steps:
                    with suppress(UserError):
                        kb.explained_lookup(LookupRequest(step, f"{number}"))
            return [
                list(kb.invocations(InvocationFilter(f"{number}", limit=1000)))[::-1] for number in range(len(sessions))
            ]


def varied_rows(templates: list[list[Invocation]], count: int, days: float, seed: int = 1) -> Iterator[Invocation]:
    """``count`` rows of sessions spread over the last ``days``, mostly by day; here and there a session is cleared."""
    chance = random.Random(seed)
    now = datetime.now(UTC)
    made = session = 0
    while made < count:
        session += 1
        moment = now - timedelta(days=days * chance.random() ** 1.3)
        if chance.random() < 0.7:
            moment = min(
                now, moment.replace(hour=chance.choice((1, 2, 2, 3, 5, 6, 7, 7, 8, 9)), minute=chance.randrange(60))
            )
        name = f"{chance.choice(('agent', 'app', 'cli'))}-{session:05}"
        slow = chance.lognormvariate(0, 0.5)
        for template in chance.choice(templates)[: count - made]:
            moment = min(now, moment + timedelta(seconds=chance.expovariate(1 / 20)))
            yield _varied(
                template, f"{chance.getrandbits(64):016x}", name, moment, slow * chance.lognormvariate(0, 0.3)
            )
            made += 1
        if chance.random() < 0.02:
            yield clear_invocation(f"{chance.getrandbits(64):016x}", name, moment.isoformat(timespec="milliseconds"))


def fill(state: Path, rows: Iterator[Invocation]) -> None:
    database = Database(state / DATABASE_FILE)
    log = InvocationLog(database)
    for row in rows:
        log.record(row)
    database.close()


def _varied(row: Invocation, invocation_id: str, session: str, moment: datetime, slower: float) -> Invocation:
    earlier = {"earlier_invocation": None} if "earlier_invocation" in row.retrieval_details else {}
    return replace(
        row,
        id=invocation_id,
        session_id=session,
        created_at=moment.isoformat(timespec="milliseconds"),
        duration_ms=round(row.duration_ms * slower, 3),
        l0_ms=round(row.l0_ms * slower, 3),
        embed_ms=None if row.embed_ms is None else round(row.embed_ms * slower, 3),
        l1_ms=None if row.l1_ms is None else round(row.l1_ms * slower, 3),
        retrieval_details=row.retrieval_details | earlier,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path("knowledge_base"))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--days", type=float, default=14)
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    fill(options.state_dir, varied_rows(real_rows(options.root), options.rows, options.days))
    print(f"{options.rows} rows in {options.state_dir / DATABASE_FILE}")


if __name__ == "__main__":
    main()
