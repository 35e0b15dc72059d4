"""Words in flat arrays against a loop over all of them (K6)."""

from hypothesis import given
from hypothesis import strategies as st

from kbapp.adapters.word_list import WordList
from kbapp.domain.typos import edits_between

WORDS = st.text(alphabet="abc1_", min_size=5, max_size=12)


@given(st.sets(WORDS), WORDS)
def test_k6_the_words_near_a_term_are_those_of_a_loop(words: set[str], term: str) -> None:
    expected = {(edits, word) for word in words if (edits := edits_between(term, word))}
    assert {*WordList(words).near(term)} == expected


@given(st.sets(WORDS, min_size=1), st.data())
def test_k6_a_word_with_a_character_left_out_is_near(words: set[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(sorted(words)))
    start = data.draw(st.integers(1, len(word) - 1))
    term = word[:start] + word[start + 1 :]
    assert {*WordList(words).near(term)} == {(n, other) for other in words if (n := edits_between(term, other))}


@given(st.sets(WORDS), WORDS)
def test_k6_a_word_is_known_when_it_is_among_them(words: set[str], word: str) -> None:
    assert (word in WordList(words)) == (word in words)
    assert all(other in WordList(words) for other in words)
