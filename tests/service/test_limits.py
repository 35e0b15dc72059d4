"""How long a lookup may take and how many run at once: what hangs ends in time, who waits is told so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kbapp.domain.circuit_breaker import BreakerKind
from kbapp.domain.invocation import Outcome
from tests.faults import OTHER_QUESTION, QUESTION, FaultyEmbedder, Hanging, asked, kinds, opened
from tests.waiting import wait_until


@pytest.fixture
def embedder() -> FaultyEmbedder:
    return FaultyEmbedder()


def test_a_source_that_hangs_ends_in_time_and_the_words_answer(tmp_path: Path, embedder: FaultyEmbedder) -> None:
    with opened(tmp_path, embedder, retrieval__limits__timeout_seconds="0.2") as kb:
        hanging = Hanging()
        embedder.fault = hanging
        result, row = asked(kb, QUESTION)
        assert "vector search did not answer within 0.2 s" in str(result.degraded)
        assert result.supplement is not None
        assert row.outcome is Outcome.DEGRADED
        for _ in range(6):
            asked(kb, QUESTION)
        assert hanging.calls == 5, "then the breaker is open"
        embedder.fault = None
        hanging.let_go.set()
        assert kinds(kb)[0] is BreakerKind.OPEN, "a late end does not close it"


def test_a_source_that_hung_is_asked_again_although_its_calls_never_ended(
    tmp_path: Path, embedder: FaultyEmbedder
) -> None:
    settings = {"retrieval__limits__timeout_seconds": "0.05", "retrieval__breaker__open_seconds": "0.05"}
    with opened(tmp_path, embedder, **settings) as kb:
        hanging = Hanging()
        embedder.fault = hanging
        for _ in range(30):
            asked(kb, QUESTION)
        embedder.fault = None
        wait_until(lambda: asked(kb, QUESTION)[0].degraded is None)
        hanging.let_go.set()


def test_too_many_lookups_of_one_session_are_told_so(tmp_path: Path, embedder: FaultyEmbedder) -> None:
    limits = {"retrieval__limits__wait_seconds": "0.1"}
    with opened(tmp_path, embedder, **limits) as kb, ThreadPoolExecutor(1) as pool:
        hanging = Hanging()
        embedder.fault = hanging
        stuck = pool.submit(asked, kb, QUESTION, "s")
        wait_until(lambda: hanging.calls == 1)
        result, row = asked(kb, "ERR_TIMEOUT", "s")
        assert "0.1" in str(result.degraded)
        assert (row.outcome, row.session_id) == (Outcome.DEGRADED, "s")
        hanging.let_go.set()
        embedder.fault = None
        assert stuck.result()[0].found
        assert asked(kb, "ERR_TIMEOUT", "s")[0].found


def test_too_many_lookups_at_once_are_told_so_and_leave_a_row(tmp_path: Path, embedder: FaultyEmbedder) -> None:
    limits = {"retrieval__limits__max_in_flight": "2", "retrieval__limits__wait_seconds": "0.1"}
    with opened(tmp_path, embedder, **limits) as kb, ThreadPoolExecutor(2) as pool:
        hanging = Hanging()
        embedder.fault = hanging
        stuck = [pool.submit(asked, kb, QUESTION) for _ in range(2)]
        wait_until(lambda: hanging.calls == 2)
        result, row = asked(kb, OTHER_QUESTION, "s")
        assert result.degraded == "正在处理的检索过多（2 个），等待 0.1 秒后仍未轮到：请稍后重试"
        assert "无法判断" in str(result.message)
        assert (row.outcome, row.l1_called) == (Outcome.DEGRADED, False)
        hanging.let_go.set()
        embedder.fault = None
        assert all(call.result()[0].found for call in stuck)
        assert asked(kb, OTHER_QUESTION, "s")[0].found, "a refused call counts as no miss and no repeat"
