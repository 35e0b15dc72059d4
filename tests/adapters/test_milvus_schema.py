"""Chunks as rows of Milvus: text that fits, batches, ids, and what a search found."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from kbapp.adapters.milvus_index import distinct_hits
from kbapp.adapters.milvus_schema import VECTOR_FIELD, batches, described_model, fit, is_chunk_id, is_collection_of
from kbapp.domain.ports import VectorHit
from tests.processes.milvus_samples import sample_id


@given(st.text(), st.integers(0, 40))
def test_a_fitted_text_is_the_longest_start_that_fits(text: str, limit: int) -> None:
    fitted = fit(text, limit)
    clean = fit(text, 1_000)
    assert clean.startswith(fitted)
    assert len(fitted.encode()) <= limit
    assert fitted == clean or len(clean[: len(fitted) + 1].encode()) > limit


@given(st.lists(st.integers(0, 3_000)), st.integers(1, 5), st.integers(1, 20_000))
def test_batches_keep_order_and_bounds(sizes: list[int], max_rows: int, max_bytes: int) -> None:
    rows = [{"content": "x" * size, VECTOR_FIELD: [0.0]} for size in sizes]
    found = list(batches(rows, max_rows, max_bytes))
    assert [row for batch in found for row in batch] == rows
    assert all(0 < len(batch) <= max_rows for batch in found)
    assert all(len(batch) == 1 or sum(len(row["content"]) for row in batch) <= max_bytes for batch in found)


def test_a_chunk_found_twice_counts_once_and_an_id_with_a_quote_is_none() -> None:
    hits = [VectorHit("b", 0.5), VectorHit("a", 0.5), VectorHit("b", 0.5), VectorHit("c", 0.1), VectorHit("a", 0.7)]
    assert distinct_hits(hits) == [VectorHit("c", 0.1), VectorHit("a", 0.5), VectorHit("b", 0.5)]
    assert is_chunk_id(sample_id(3))
    assert not any(map(is_chunk_id, ("", "a'b", 'a"b', "a\\b", "a\nb", "a\x00", "x" * 513)))


def test_the_slow_libraries_are_imported_where_they_are_used_only() -> None:
    code = "import sys, kbapp.adapters.milvus_index; print({'pymilvus', 'milvus_lite', 'grpc'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_only_names_of_our_form_are_ours() -> None:
    assert is_collection_of("", "chunks_0123abcd")
    assert is_collection_of("s1", "chunks_s1_0123abcd")
    others = ("chunks_0123abcd0", "chunks_notes", "chunks_s1_0123abcd", "chunks_0123ABCD", "chunks_0123abcd\n", "notes")
    assert not any(is_collection_of("", name) for name in others)


def test_the_model_is_read_from_a_description_where_a_server_keeps_no_properties() -> None:
    assert described_model("kbapp chunks, model BAAI/bge-m3, dimension 1024", {}) == "BAAI/bge-m3 (1024)"
    assert described_model("", {"kbapp.model": "模型", "kbapp.dimension": "8"}) == "模型 (8)"
    assert described_model("somebody's", {}) is None
