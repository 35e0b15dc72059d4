"""The bundled models, for real."""

from __future__ import annotations

import os
import threading
import unicodedata

import numpy as np
import pytest

from kbapp.adapters.embedders import EmbeddingOptions, open_embedder
from kbapp.adapters.embedders.bundled import E5_MAX_CHARACTERS, E5_MODEL, USE_MODEL, load_e5
from kbapp.domain.ports import Embedder, Vectors

BUNDLED = [pytest.param(E5_MODEL, marks=pytest.mark.model), USE_MODEL]
TEXTS = ["支付网关超时，返回 ERR_TIMEOUT。", "数据库连接池的最大连接数怎么配置？", "The cache evicts cold keys first."]


@pytest.fixture(scope="module", params=BUNDLED)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return open_embedder(EmbeddingOptions(request.param))


def nearness(a: Vectors, b: Vectors) -> float:
    return float(a[0] @ b[0])


def test_g1_rows_are_unit_vectors_of_the_promised_dimension(embedder: Embedder) -> None:
    for vectors in (embedder.embed_queries(TEXTS), embedder.embed_passages(TEXTS)):
        assert vectors.shape == (3, embedder.dimension)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)


def test_a_question_is_nearest_to_the_passage_that_answers_it(embedder: Embedder) -> None:
    scores = embedder.embed_queries(["连接池参数如何设置"]) @ embedder.embed_passages(TEXTS).T
    assert int(scores.argmax()) == 1


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    alone = np.concatenate([embedder.embed_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(embedder.embed_passages(TEXTS), alone, atol=1e-5)


def test_a_nul_does_not_cut_the_text(embedder: Embedder) -> None:
    cut, whole = embedder.embed_passages(["支付"]), embedder.embed_passages(["支付 网关超时"])
    assert nearness(embedder.embed_passages(["支付\x00网关超时"]), whole) > 0.9999 > nearness(cut, whole)


@pytest.mark.parametrize("text", ["", " \n\t", "\x00", "\ud83d", "a\udfffb", "\x01\x02", "🀄", "\u200b"])
def test_blank_and_broken_texts_still_give_a_unit_vector(embedder: Embedder, text: str) -> None:
    assert embedder.embed_queries([text]).shape == (1, embedder.dimension)
    assert embedder.embed_passages([text]).shape == (1, embedder.dimension)


def test_a_ligature_that_unfolds_to_eighteen_characters_is_embedded_like_its_letters(embedder: Embedder) -> None:
    ligatures = "\ufdfa" * 30
    unfolded = unicodedata.normalize("NFKC", ligatures)
    assert nearness(embedder.embed_passages([ligatures]), embedder.embed_passages([unfolded])) > 0.9999


def test_four_threads_get_the_vectors_that_one_gets(embedder: Embedder) -> None:
    alone = embedder.embed_passages(TEXTS)
    found: list[Vectors] = []
    threads = [threading.Thread(target=lambda: found.append(embedder.embed_passages(TEXTS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.allclose(vectors, alone, atol=1e-5) for vectors in found)  # BLAS adds in an order of its own


@pytest.mark.model
def test_e5_tells_queries_from_passages() -> None:
    e5 = open_embedder(EmbeddingOptions(E5_MODEL))
    assert nearness(e5.embed_queries(TEXTS), e5.embed_passages(TEXTS)) < 0.999


@pytest.mark.model
def test_e5_embeds_the_beginning_of_a_text_that_would_take_it_minutes() -> None:
    e5 = open_embedder(EmbeddingOptions(E5_MODEL))
    endless = "international " * 8_000
    assert np.array_equal(e5.embed_passages([endless]), e5.embed_passages([endless[:E5_MAX_CHARACTERS]]))


@pytest.mark.model
def test_loading_e5_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert load_e5().dimension == 384
    assert "OMP_WAIT_POLICY" not in os.environ
