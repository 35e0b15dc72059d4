"""Corpora: the same at every call, no two texts equal, one section a chunk, vectors in clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from corpora import SECTIONS, ClusteredEmbedder, Source, Space, documents, fitted, read_source

from kbapp.adapters.document_files import DocumentFiles
from kbapp.domain.chunking import split_document

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def source() -> Source:
    return read_source("sample", ROOT / "knowledge_base", ROOT / "benchmarks" / "sample_queries.jsonl")


def real_vectors(count: int, seed: int) -> np.ndarray:
    """Stand-ins of a model's: five groups in one half of the sphere."""
    some = np.random.default_rng(seed)
    groups = np.random.default_rng(0).normal(size=(5, 32))
    rows = 3 + groups[some.integers(0, 5, count)] + 0.5 * some.normal(size=(count, 32))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def space() -> Space:
    return fitted(real_vectors(120, 1), real_vectors(3, 2), ("one", "two", "three"), "model")


def test_the_real_corpus_gives_titles_keywords_sections_and_queries(source):
    assert source.documents == len(list((ROOT / "knowledge_base").rglob("*.md")))
    assert min(map(len, (source.titles, source.keywords, source.sections, source.queries))) >= 50


def test_documents_are_the_same_at_every_call_and_a_smaller_corpus_is_the_start_of_a_larger(source):
    assert list(documents(source, 30))[:20] == list(documents(source, 20))


def test_documents_of_another_seed_are_others(source):
    assert list(documents(source, 5, seed=1)) != list(documents(source, 5, seed=2))


def test_no_two_sections_are_equal(source):
    sections = [part for _, text in documents(source, 60) for part in text.split("\n## ")[1:]]
    assert len(sections) == 60 * SECTIONS
    assert len(set(sections)) == len(sections)


def test_a_short_section_is_one_chunk_and_each_document_has_an_entry(source, tmp_path):
    files = DocumentFiles(tmp_path)
    chunks = 0
    for path, text in documents(source, 60):
        document = files.parse(path, text.encode("utf-8"))
        assert document.entry is not None
        assert len(document.entry.keywords) >= 4  # two of five may be the same
        chunks += len(split_document(document))
    assert chunks == pytest.approx(60 * SECTIONS, rel=0.02)


def test_whole_sections_are_longer(source):
    short, long = (sum(len(text) for _, text in documents(source, 20, whole_sections=whole)) for whole in (False, True))
    assert long > short


def test_drawn_vectors_are_unit_rows_and_the_same_at_every_call(space):
    drawn = space.drawn(50)
    assert drawn.shape == (50, 32)
    assert drawn.dtype == np.float32
    assert np.allclose(np.linalg.norm(drawn, axis=1), 1, atol=1e-6)
    assert np.array_equal(drawn, space.drawn(50))
    assert not np.array_equal(drawn, space.drawn(50, seed=2))


def test_neighbours_of_drawn_vectors_are_as_near_as_those_of_the_real_ones(space):
    drawn, real = space.neighbours(space.drawn(120)), space.neighbours(space.passages)
    assert drawn["p50"] == pytest.approx(real["p50"], abs=0.01)


def test_drawn_vectors_are_clustered_unlike_uniform_ones(space):
    uniform = np.random.default_rng(1).normal(size=(120, 32)).astype(np.float32)
    uniform /= np.linalg.norm(uniform, axis=1, keepdims=True)
    assert space.neighbours(space.drawn(120))["p10"] > space.neighbours(uniform)["p90"]


def test_the_embedder_gives_a_text_the_same_vector_whatever_is_embedded_with_it(space):
    embedder = ClusteredEmbedder(space)
    together, alone = embedder.embed_passages(["a", "b"]), embedder.embed_passages(["b"])
    assert np.array_equal(together[1], alone[0])
    assert not np.array_equal(together[0], together[1])


def test_the_embedder_knows_the_real_queries_and_gives_others_unit_vectors(space):
    rows = ClusteredEmbedder(space).embed_queries(["two", "unheard of"])
    assert np.array_equal(rows[0], space.queries[1])
    assert np.linalg.norm(rows[1]) == pytest.approx(1, abs=1e-6)
    assert not (rows[1] == space.queries).all(axis=1).any()
