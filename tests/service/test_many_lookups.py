"""Eight conversations at once on real stores: all is recorded, and each is given what it would be given alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kbapp.domain.lookup_result import LookupResult
from kbapp.service.knowledge_base import KnowledgeBase
from tests.knowledge import document, open_for_test, write_documents

THREADS = 8
CALLS = 200
TOPICS = "支付网关 连接池 缓存击穿 消息队列 限流熔断 日志采集 配置中心 灰度发布 数据迁移 容器编排".split()
DOMAINS = ("api", "infrastructure", "operations")
BODY = "## {0}原理\n\n{0}的原理与取舍。\n\n## {0}排查\n\n{0}怎样排查。"
DOCUMENTS = {
    f"{DOMAINS[number % 3]}/{number}.md": document(topic, f"{topic}, KEY_{number}", BODY.format(topic))
    for number, topic in enumerate(TOPICS)
}


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


def queries_of(conversation: int) -> list[str]:
    """Keywords, questions for L1, ambiguous and senseless ones; another mix for each conversation."""
    choice = random.Random(conversation)
    topics = choice.sample(range(len(TOPICS)), 4)
    kinds = ("KEY_{0}", "{1}怎样排查", "{1}的原理", "zqxv{0}", "{1} KEY_{0}")
    return [kinds[choice.randrange(5)].format(number, TOPICS[number]) for number in choice.choices(topics, k=CALLS)]


def converse(kb: KnowledgeBase, conversation: int, session: str) -> list[LookupResult]:
    return [kb.lookup(query, session_id=session) for query in queries_of(conversation)]


def substance(result: LookupResult) -> tuple[object, ...]:
    """A result without its own id and the time of an earlier one."""
    return (
        result.primary,
        result.supplement,
        result.relevance_level,
        result.dedup_reason,
        result.retrieved_domains,
        result.degraded,
    )


def test_t5_eight_conversations_at_once_are_recorded_and_do_not_see_each_other(kb: KnowledgeBase) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(lambda number: converse(kb, number, f"together-{number}"), range(THREADS)))

    ids = {result.invocation_id for results in together for result in results}
    rows = [row for number in range(THREADS) for row in kb.telemetry(session_id=f"together-{number}", limit=10_000)]
    assert len(rows) == len(ids) == THREADS * CALLS
    assert {row.id for row in rows} == ids
    assert {row.outcome.value for row in rows} == {"ok", "deduped", "not_found"}

    for number, results in enumerate(together):
        alone = converse(kb, number, f"alone-{number}")
        assert [substance(result) for result in results] == [substance(result) for result in alone]
        assert kb.session(f"together-{number}").documents == kb.session(f"alone-{number}").documents
    assert len({str(kb.session(f"together-{number}").documents) for number in range(THREADS)}) > 1
