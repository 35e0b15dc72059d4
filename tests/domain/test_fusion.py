from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.fusion import SPREAD_WEIGHT, FusedHit, LegHit, fuse


def hit(chunk: str, cosine: float, share: float, ranks: tuple[int | None, int | None] = (None, None)) -> LegHit:
    """Chunk ``a1`` is one of document ``a``."""
    return LegHit(chunk, chunk[0], cosine, share, *ranks)


def ids(hits: list[FusedHit]) -> list[str]:
    return [each.chunk_id for each in hits]


HITS = st.lists(
    st.builds(
        hit,
        st.tuples(st.sampled_from("abc"), st.sampled_from("123")).map("".join),
        st.floats(-1, 1),
        st.floats(0, 1),
        st.tuples(st.none() | st.integers(1, 9), st.none() | st.integers(1, 9)),
    ),
    unique_by=lambda each: each.chunk_id,
)


def test_q9_a_document_is_worth_its_best_cosine_and_its_best_share_of_full_text_wherever_they_stand() -> None:
    hits = [hit("a1", 0.9, 0.0), hit("a2", 0.8, 0.4), hit("b1", 0.88, 0.35)]
    # a: 2.5 · 0.9 + 0.4 = 2.65; b: 2.5 · 0.88 + 0.35 = 2.55; of a the second section is worth 2.4, the first 2.25
    assert ids(fuse(hits, 2.5)) == ["a2", "b1", "a1"]


def test_q9_the_best_section_of_every_document_comes_before_any_other_section() -> None:
    hits = [hit("a1", 0.9, 0.5), hit("a2", 0.9, 0.4), hit("b1", 0.1, 0.0)]
    assert ids(fuse(hits, 1.0)) == ["a1", "b1", "a2"]


def test_q9_each_hit_knows_its_ranks_and_whether_its_document_leads_both_legs() -> None:
    hits = [hit("a1", 0.9, 0.1, (1, 2)), hit("a2", 0.8, 0.9, (4, 1)), hit("b1", 0.85, 0.0, (2, None))]
    by_id = {each.chunk_id: each for each in fuse(hits, 1.0)}
    assert by_id["a1"] == FusedHit("a1", 1, 2, leads_both=True)
    assert by_id["a2"].leads_both
    assert by_id["b1"] == FusedHit("b1", 2, None, leads_both=False)


def test_q9_legs_that_are_led_by_different_documents_are_led_by_none() -> None:
    hits = [hit("a1", 0.9, 0.1, (1, 2)), hit("b1", 0.8, 0.9, (2, 1))]
    assert not any(each.leads_both for each in fuse(hits, 1.0))


def test_without_a_weight_the_spread_of_the_cosines_is_worth_a_third_of_a_full_text_share() -> None:
    near, far = 0.4, 0.2
    just_more = [hit("a1", near, 0.0), hit("b1", far, SPREAD_WEIGHT + 0.01)]
    just_less = [hit("a1", near, 0.0), hit("b1", far, SPREAD_WEIGHT - 0.01)]
    assert ids(fuse(just_more, None)) == ["b1", "a1"]
    assert ids(fuse(just_less, None)) == ["a1", "b1"]


def test_nothing_found_is_fused_to_nothing() -> None:
    assert fuse([], None) == fuse([], 2.5) == []


@given(HITS, st.none() | st.floats(0, 50))
def test_fusion_keeps_every_hit_once_whatever_their_order(hits: list[LegHit], weight: float | None) -> None:
    fused = fuse(hits, weight)
    assert sorted(ids(fused)) == sorted(each.chunk_id for each in hits)
    assert fuse(hits[::-1], weight) == fused


@given(HITS, st.floats(0, 50))
def test_documents_come_in_the_order_of_their_worth(hits: list[LegHit], weight: float) -> None:
    documents = list(dict.fromkeys(chunk[0] for chunk in ids(fuse(hits, weight))))
    own = {name: [each for each in hits if each.document == name] for name in documents}
    worth = [weight * max(e.cosine for e in own[name]) + max(e.text_share for e in own[name]) for name in documents]
    assert worth == sorted(worth, reverse=True)
