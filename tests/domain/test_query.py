import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.errors import UserError
from kbapp.domain.query import clean_query, clean_session_id, clean_text


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


@pytest.mark.parametrize(
    ("text", "session_id"),
    [
        (None, None),
        ("", None),
        (" \t\n\x00\u200b", None),
        ("s1", "s1"),
        ("  会话 一 ", "会话 一"),
        ("a\nb\r\n\x1b[31mc\u2028d\ud800", "ab[31mcd"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 180 + "…" + hashlib.sha256(b"x" * 201).hexdigest()[:16]),
    ],
)
def test_m1_a_session_id_is_one_short_line_or_none(text: str | None, session_id: str | None) -> None:
    assert clean_session_id(text) == session_id


def test_m1_long_session_ids_that_begin_alike_stay_apart() -> None:
    assert clean_session_id("x" * 9_999 + "y") != clean_session_id("x" * 9_999 + "z")


@given(st.text(st.characters(exclude_categories=())) | st.text("ab \n", min_size=195, max_size=210))
def test_m1_cleaning_a_session_id_twice_changes_nothing_more(text: str) -> None:
    once = clean_session_id(text)
    assert clean_session_id(once) == once
    assert once is None or (once.strip() and len(once) <= 200)
