"""Measure the keyword index: time of a match, of a build and of a change, and memory.

    python benchmarks/l0.py [--json] [--entries 1000 50000]

Entries and queries are generated with a fixed seed: Chinese terms, products, error codes, class names, settings and
versions, few frequent, most rare. Each size runs in a process of its own, and once more under tracemalloc for the
memory of Python objects.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import MatchRules

KEYWORDS_PER_ENTRY = 5
QUERIES = 1_000
REPEATS = 5
CHANGES = 200

CHARACTERS = (
    "支付网关超时数据库连接池缓存配置集群部署日志监控告警限流熔断降级消息队列订单用户权认证书加密路由负载均衡备份恢复"
    "迁移扩容灰度发布回滚镜像调节点服务注册额账退款对结算风审计报表索引分片副本一致性事务锁线程内磁盘带宽吞吐故障排查"
)
SYLLABLES = (
    "ba ce dor el fin gra hi jo ka lim mon net or pol qu res ser ta un ver wa xi yo ze con pro trans bal sto".split()
)
PRODUCTS = "Redis MySQL Kafka Nacos Nginx Kubernetes Docker Elasticsearch HikariCP Dubbo Spring Istio etcd".split()
FILLERS = (
    "我们 在 生产 环境 里 看到 一个 问题 请问 应该 怎么 处理 已经 试过 重启 但是 没有 解决 经常 出现 ， 。".split()
)


class Vocabulary:
    """Words, the more the more entries there are; some are frequent, and the names of products are most frequent."""

    def __init__(self, entry_count: int, seed: int) -> None:
        self.rng = random.Random(seed)
        words = random.Random(entry_count)
        count = max(200, entry_count // 2)
        self._chinese = ["".join(words.choices(CHARACTERS, k=words.choice((2, 2, 3, 4)))) for _ in range(count)]
        self._english = ["".join(words.choices(SYLLABLES, k=words.choice((2, 2, 3)))) for _ in range(count)]

    def _pick(self, words: list[str]) -> str:
        return words[int(len(words) * self.rng.random() ** 2)]

    def product(self) -> str:
        return PRODUCTS[int(len(PRODUCTS) ** self.rng.random()) - 1]

    def chinese(self) -> str:
        return "".join(self._pick(self._chinese) for _ in range(self.rng.choice((1, 2, 2))))

    def identifier(self) -> str:
        words = [self._pick(self._english) for _ in range(self.rng.choice((2, 2, 3)))]
        style = self.rng.randrange(4)
        if style == 0:
            return f"ERR_{'_'.join(words)}".upper()
        return "".join(word.capitalize() for word in words) if style == 1 else "-."[style - 2].join(words)

    def keyword(self) -> str:
        """45 % Chinese, 35 % identifiers, 12 % mixed, 5 % versions, 3 % names of products."""
        kind = self.rng.random()
        if kind < 0.45:
            return self.chinese()
        if kind < 0.80:
            return self.identifier()
        if kind < 0.92:
            return f"{self.product()} {self.chinese()}"
        if kind < 0.97:
            return f"{self.rng.randrange(10)}.{self.rng.randrange(30)}.{self.rng.randrange(30)}"
        return self.product()


def make_entries(count: int) -> list[KnowledgeEntry]:
    words = Vocabulary(count, seed=0)
    return [
        KnowledgeEntry(
            f"{words.rng.choice(SYLLABLES)}/document-{number:06d}.md",
            f"{words.chinese()}{words.chinese()}",
            tuple({words.keyword(): None for _ in range(KEYWORDS_PER_ENTRY + 2)})[:KEYWORDS_PER_ENTRY],
            None,
        )
        for number in range(count)
    ]


def make_short_queries(entries: list[KnowledgeEntry]) -> list[str]:
    """About 15 characters: a keyword as it stands, in a question, a part of one, and questions about nothing known."""
    words = Vocabulary(len(entries), seed=1)
    kinds: list[Callable[[str], str]] = [
        lambda known: known,
        lambda known: f"{known}怎么处理？",
        lambda known: known[: max(2, len(known) // 2)],
        lambda _: f"如何让{words.chinese()}{words.chinese()}更好",
        lambda _: f"zqxv {words.identifier()}x",
    ]
    return [words.rng.choice(kinds)(words.rng.choice(words.rng.choice(entries).keywords)) for _ in range(QUERIES)]


def make_long_queries(entries: list[KnowledgeEntry]) -> list[str]:
    """200 characters: running text with five keywords of the index in it."""
    rng = random.Random(2)

    def text() -> str:
        known = [rng.choice(rng.choice(entries).keywords) for _ in range(5)]
        filling = rng.choices(FILLERS, k=120)
        for word in known:
            filling.insert(rng.randrange(60), word)
        return "".join(filling)[:200]

    return [text() for _ in range(QUERIES)]


def make_mistyped_queries(entries: list[KnowledgeEntry]) -> list[str]:
    """A question about an identifier with one character left out or put in, so that the last tier is reached."""
    rng = random.Random(4)
    known = [word for entry in entries for word in entry.keywords if word.isascii() and word[-1].isalpha()]

    def text() -> str:
        word = rng.choice(known)
        place, character = rng.randrange(1, len(word)), rng.choice(("", "q"))
        return f"{word[:place]}{character}{word[place + (not character) :]} 怎么处理？"

    return [text() for _ in range(QUERIES)]


def rss_mb() -> float:
    """Resident memory of this process now (Linux), or its peak elsewhere."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def timed_ms(action: Callable[[], object], repeats: int = 1) -> float:
    """The fastest of some runs, so that other work on the machine does not count."""

    def run() -> float:
        start = time.perf_counter()
        action()
        return (time.perf_counter() - start) * 1000

    return min(run() for _ in range(repeats))


def percentiles(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {name: round(ordered[int(len(ordered) * share)], 4) for name, share in (("p50", 0.5), ("p99", 0.99))}


def measure(count: int, *, trace: bool) -> dict[str, object]:
    """One size in this process; under tracemalloc only the memory of Python objects, since it slows everything."""
    before = rss_mb()
    entries = make_entries(count)
    gc.collect()
    entries_mb = rss_mb() - before
    # Whatever is allocated once per process (modules, caches, the allocator's first arenas) is not the index.
    KeywordIndex(MatchRules()).replace(entries[:10])
    if trace:
        tracemalloc.start()
    before = rss_mb()
    index = KeywordIndex(MatchRules())
    build_ms = timed_ms(lambda: index.replace(entries))
    gc.collect()
    if trace:
        return {"index_python_mb": round(tracemalloc.get_traced_memory()[0] / 1024**2, 2)}
    index_mb = rss_mb() - before
    figures: dict[str, object] = {
        "entries": count,
        "keywords": sum(len(entry.keywords) for entry in entries),
        "build_ms": round(build_ms, 1),
        "index_rss_mb": round(index_mb, 2),
        "entries_rss_mb": round(entries_mb, 2),
    }
    kinds = {"short": make_short_queries, "long": make_long_queries, "mistyped": make_mistyped_queries}
    for name, make_queries in kinds.items():
        queries = make_queries(entries)
        figures[f"match_{name}_ms"] = percentiles(
            [timed_ms(lambda q=query: index.match(q), REPEATS) for query in queries]
        )
        figures[f"matches_{name}_mean"] = round(sum(len(index.match(query)) for query in queries[:200]) / 200, 1)
    changed = [
        replace(entry, keywords=(*entry.keywords, "新词")) for entry in random.Random(3).sample(entries, CHANGES)
    ]
    figures["put_ms"] = percentiles([timed_ms(lambda e=entry: index.put(e)) for entry in changed])
    return figures


def run_apart(count: int, *options: str) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", str(count), *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the keyword index.")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    parser.add_argument("--entries", type=int, nargs="+", default=[1_000, 50_000])
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, trace=options.trace)))
        return
    results = [run_apart(count) | run_apart(count, "--trace") for count in options.entries]
    if options.json:
        print(json.dumps(results, indent=2))
        return
    for figures in results:
        print(*(f"{name:22} {value}" for name, value in figures.items()), "", sep="\n")


if __name__ == "__main__":
    main()
