import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.errors import UserError
from kbapp.domain.query import clean_query, clean_text


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("  ERR_TIMEOUT \n", "ERR_TIMEOUT"),
        ("支付\x00网关", "支付网关"),
        ("支付\t网关\r\n超时", "支付 网关 超时"),
        ("a\ud800b", "ab"),
        ("\ufeff支\u200b付", "支付"),
        ("\x1b[31mred", "[31mred"),
    ],
)
def test_q11_control_characters_and_lone_surrogates_are_removed(text: str, query: str) -> None:
    assert clean_query(text, 100) == query


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "\ud800", "\u200b\n"])
def test_q11_a_blank_query_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(UserError, match="the query is empty: say"):
        clean_query(text, 100)


def test_q11_a_longer_query_is_refused_with_both_numbers_and_the_setting() -> None:
    assert clean_query("x" * 2000, 2000) == "x" * 2000
    with pytest.raises(UserError, match=r"100000 characters, at most 2000 .*retrieval\.query\.max-characters"):
        clean_query("x" * 100_000, 2000)


@given(st.text(st.characters()))
def test_cleaning_twice_is_cleaning_once_and_the_result_can_be_encoded(text: str) -> None:
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    cleaned.encode("utf-8")
