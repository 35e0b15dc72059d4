"""Hashed pairs of characters against a loop over the text."""

from hypothesis import example, given
from hypothesis import strategies as st

from kbapp.adapters.character_pairs import PairPlaces

TEXT = st.text(alphabet="ab支付\n😀", max_size=40)


@given(TEXT, st.text(alphabet="ab支付", min_size=2, max_size=4))
@example("", "ab")
@example("b支", "ab支")
def test_every_place_of_a_part_is_a_candidate_in_order(text: str, part: str) -> None:
    candidates = PairPlaces(text).candidates(part).tolist()
    assert {place for place in range(len(text)) if text.startswith(part, place)} <= {*candidates}
    assert candidates == sorted(candidates)


def test_few_places_are_strangers() -> None:
    text = "".join(chr(0x4E00 + (7 * place * place) % 5_003) for place in range(10_000))
    part = text[5_000:5_003]
    strangers = [place for place in PairPlaces(text).candidates(part).tolist() if not text.startswith(part, place)]
    assert len(strangers) < 10
