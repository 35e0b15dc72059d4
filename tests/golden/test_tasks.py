"""What the executors save on the shipped tasks, and what they still bring (000, ISS-002)."""

from __future__ import annotations

import pytest

from kbapp.domain.tasks import parse_tasks
from kbapp.service.constrained_executor import ConstrainedExecutor
from kbapp.service.executor import UnconstrainedExecutor
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.simulation import Shelf, simulate
from tests.golden.conftest import ROOT

pytestmark = pytest.mark.model

TASKS = parse_tasks((ROOT / "benchmarks/tasks.jsonl").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shelf(kb: KnowledgeBase) -> Shelf:
    return Shelf(kb.base_folder, {record.path for record in kb.documents()})


def test_the_memory_alone_gives_nothing_twice_and_withholds_no_needed_document(kb: KnowledgeBase, shelf: Shelf) -> None:
    total = simulate(TASKS, UnconstrainedExecutor(kb), shelf).total
    assert total.calls == total.steps
    assert total.characters_given_twice == 0
    assert total.needed_covered >= 0.85 * total.needed


def test_the_constraints_save_two_thirds_of_the_calls_and_keep_the_needed_documents(
    kb: KnowledgeBase, shelf: Shelf
) -> None:
    total = simulate(TASKS, ConstrainedExecutor(kb, kb), shelf).total
    assert total.calls <= 0.35 * total.steps
    assert total.characters_given_twice == 0
    assert total.needed_covered >= 0.95 * total.needed
