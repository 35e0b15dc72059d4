"""Which terms are typos of which words (K6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.typos import allowed_edits, compounds_in, edits_between, terms_of, words_in


def taken(text: str) -> list[str]:
    return [text[start:end] for start, end in (*words_in(text), *compounds_in(text))]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("报错err_timeot怎么办", ["timeot", "err_timeot"]),
        ("the nginx conf", ["nginx"]),
        ("k8s", []),
        ("a.b/c-d_e", ["a.b/c-d_e"]),
        ("a.b", []),
        ("cafétéria таймаут", []),
        ("(kafka), redis.", ["kafka", "redis"]),
        ("kafka.", ["kafka"]),
        ("", []),
    ],
)
def test_k6_terms_are_ascii_words_and_compounds_of_five_characters(text: str, terms: list[str]) -> None:
    assert taken(text) == terms


def test_k6_what_can_be_meant_are_also_the_parts_of_camel_case() -> None:
    assert {*terms_of("leakdetectionthreshold 设置", (4, 13))} == {"leakdetectionthreshold", "detection", "threshold"}
    assert {*terms_of("err_timeout")} == {"err_timeout", "timeout"}


@pytest.mark.parametrize(
    ("term", "word", "edits"),
    [
        ("timeot", "timeout", 1),
        ("timeoout", "timeout", 1),
        ("timaout", "timeout", 1),
        ("tiemout", "timeout", 1),
        ("connecton_pol", "connection_pool", 2),
        ("connetcoin", "connection", 2),
        ("errtimeout", "err_timeout", 1),
        ("timeot_1001", "timeout_1001", 1),
        ("err-1001", "err_1001", 1),
    ],
)
def test_k6_one_edit_is_a_typo_and_two_are_in_a_long_term(term: str, word: str, edits: int) -> None:
    assert edits_between(term, word) == edits


@pytest.mark.parametrize(
    ("term", "word"),
    [
        ("timeut", "timeouts"),  # two edits in a short term
        ("connecin", "connection"),
        ("connetnpol", "connectionpool"),
        ("err_1002", "err_1001"),
        ("err_101", "err_1001"),
        ("err_1010", "err_1001"),
        ("1.23.4.5", "12.3.4.5"),
        ("http2", "https"),
        ("gaming", "naming"),  # another first character
        ("workers", "worker"),
        ("worker", "workers"),
        ("handled", "handle"),
        ("indexes", "index"),
        ("timeout", "timeout"),
    ],
)
def test_k6_numbers_first_characters_and_endings_are_no_typos(term: str, word: str) -> None:
    assert edits_between(term, word) is None


def distance(left: str, right: str) -> int:
    """Damerau–Levenshtein by the textbook's table, without edits between swapped characters."""
    rows = [[*range(len(right) + 1)]]
    for i, a in enumerate(left, 1):
        rows.append([i])
        for j, b in enumerate(right, 1):
            best = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a != b))
            if i > 1 and j > 1 and (a, b) == (right[j - 2], left[i - 2]):
                best = min(best, rows[i - 2][j - 2] + 1)
            rows[i].append(best)
    return rows[-1][-1]


TERMS = st.text(alphabet="abc", min_size=5, max_size=14).map("x".__add__)


@given(TERMS, TERMS)
def test_k6_edits_are_those_of_the_textbook(term: str, word: str) -> None:
    edits = distance(term, word)
    assert edits_between(term, word) == (edits if 0 < edits <= allowed_edits(term) else None)


@given(st.data())
def test_k6_near_words_are_those_of_the_textbook_too(data: st.DataObject) -> None:
    word = data.draw(TERMS)
    term = word
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(1, len(term)))
        term = term[:start] + data.draw(st.sampled_from(["", "a", "b"])) + term[start + data.draw(st.integers(0, 1)) :]
    edits = distance(term, word)
    assert edits_between(term, word) == (edits if 0 < edits <= allowed_edits(term) else None)
