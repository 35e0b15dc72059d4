"""How long a start takes until L0 answers when nothing has changed, imports excluded (S1, N).

    python benchmarks/start.py [--documents 1000] [--repeats 5] [--profile] [--json]

Documents are made up, with frontmatter and sections as people write them. Seconds, median of the repeats:

read_and_hash: the raw counterpart, every file opened by its known path, read and hashed;
load_keywords: `open_knowledge_base`, after which L0 answers; no_change: the reconcile that follows and finds nothing.
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import json
import logging
import pstats
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.ports import Vectors
from kbapp.settings import Settings

WORDS = "支付 网关 超时 重试 限流 熔断 缓存 队列 索引 连接池 证书 部署 回滚 监控 告警 日志 幂等 对账 配额 鉴权".split()
FOLDERS = ("api", "domain", "guides/部署", "ops", "security", "troubleshooting/数据库", "")


class FixedEmbedder:
    """The same vector for every text: what embedding costs is not asked here."""

    model_id = "fixed:8"
    dimension = 8

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        rows[:, 0] = 1.0
        return rows

    embed_passages = embed_queries


def write_documents(root: Path, count: int) -> None:
    some = random.Random(1)
    for number in range(count):
        name = f"{some.choice(WORDS)}-{number:05}.md" if number % 2 else f"note-{number:05}.md"
        file = root / FOLDERS[number % len(FOLDERS)] / name
        file.parent.mkdir(parents=True, exist_ok=True)
        keywords = [f"ERR_{number:05}", *some.sample(WORDS, 4)]
        title = "".join(some.sample(WORDS, 2)) + f" {number}"
        sections = "\n\n".join(f"## {some.choice(WORDS)} {part}\n\n{sentence(some)}" for part in range(4))
        head = (
            f"title: {title}\nkeywords: [{', '.join(keywords)}]\nsummary: {sentence(some)[:60]}\nowner: team-{number}"
        )
        file.write_text(f"---\n{head}\n---\n\n# {title}\n\n{sections}\n", encoding="utf-8")


def sentence(some: random.Random) -> str:
    return "，".join("".join(some.choices(WORDS, k=4)) for _ in range(12)) + "。"


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="where the time of a start goes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "knowledge_base"
        write_documents(root, options.documents)
        folders = {"knowledge.base-path": str(root), "state-dir": str(Path(folder) / "state")}
        settings = Settings.load(environ={}, overrides=folders)
        with open_knowledge_base(settings, embedder=FixedEmbedder()) as kb:
            kb.reindex()
        figures = measure(root, settings, options.repeats)
        if options.profile:
            profile(settings)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:16}{value}" for name, value in figures.items()))


def measure(root: Path, settings: Settings, repeats: int) -> dict[str, float | int]:
    files = sorted(root.rglob("*.md"))
    raw, load, no_change = [], [], []
    for _ in range(repeats):
        raw.append(seconds(lambda: [hashlib.sha256(file.read_bytes()).digest() for file in files]))
        start = time.perf_counter()
        with open_knowledge_base(settings, embedder=FixedEmbedder()) as kb:
            load.append(time.perf_counter() - start)
            no_change.append(seconds(kb.refresh))
    medians = {"read_and_hash": raw, "load_keywords": load, "no_change": no_change}
    return {"documents": len(files)} | {name: round(statistics.median(times), 3) for name, times in medians.items()}


def profile(settings: Settings) -> None:
    profiler = cProfile.Profile()
    with profiler, open_knowledge_base(settings, embedder=FixedEmbedder()) as kb:
        kb.refresh()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
