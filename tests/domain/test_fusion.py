from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.fusion import RRF_K, fuse_by_rank

id_lists = st.lists(st.sampled_from("abcdefgh"), unique=True)


def test_q9_rank_fusion_adds_the_reciprocal_ranks() -> None:
    hits = fuse_by_rank(["a", "b"], ["b", "c"])
    assert [hit.chunk_id for hit in hits] == ["b", "a", "c"]
    assert hits[0].score == 1 / (RRF_K + 2) + 1 / (RRF_K + 1)
    assert (hits[0].vector_rank, hits[0].full_text_rank) == (2, 1)
    assert (hits[2].vector_rank, hits[2].full_text_rank) == (None, 2)


def test_fusion_of_one_leg_keeps_its_order() -> None:
    assert [hit.chunk_id for hit in fuse_by_rank(["c", "a", "b"], [])] == ["c", "a", "b"]


@given(id_lists, id_lists)
def test_fusion_keeps_every_id_once_and_orders_by_score_then_id(vectors: list[str], texts: list[str]) -> None:
    hits = fuse_by_rank(vectors, texts)
    assert sorted(hit.chunk_id for hit in hits) == sorted({*vectors, *texts})
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
