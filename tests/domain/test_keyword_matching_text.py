"""The normal form of queries and keywords, and its edges (K1, K3)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.domain.keyword_text import camel_cuts, is_word_edge, letter_runs, match_key, normal_text, word_count

ANY_TEXT = st.text(alphabet=st.sampled_from('aAéßИ支付超 \u3000？?.。_-Ｋ８ﬁ\u200b\ud800"「」'), max_size=12)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("ＥＲＲ＿ＴＩＭＥＯＵＴ", "err_timeout"),
        ("  connection \t\n pool ", "connection pool"),
        ("Redis 缓存 配置", "redis缓存 配置"),
        ("Redis缓存 配置", "redis缓存 配置"),
        ("使用\u3000K8s", "使用k8s"),
        ("ERR\u200b_TIME\ufeffOUT", "err_timeout"),
        ("a\ud800b", "ab"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("Cafe\u0301", "café"),
        ("\u0390", "\u0390"),
        ("", ""),
    ],
)
def test_k1_case_width_and_white_space_do_not_count(written: str, normal: str) -> None:
    assert normal_text(written) == normal


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("超时？", "超时"),
        ("超时?!。 ", "超时"),
        ("“ERR_TIMEOUT”", "err_timeout"),
        ("「支付网关」。", "支付网关"),
        ("连接池 耗尽", "连接池耗尽"),
        (".NET", ".net"),
        ("C++", "c++"),
        ("？？", "??"),
        ('"', '"'),
    ],
)
def test_k5_a_key_is_without_quotes_sentence_ends_and_spaces_within_chinese(written: str, key: str) -> None:
    assert match_key(written) == key


@settings(deadline=None)
@given(ANY_TEXT)
def test_a_text_in_normal_form_stays_as_it_is(text: str) -> None:
    assert normal_text(normal_text(text)) == normal_text(text)
    assert match_key(match_key(text)) == match_key(text)


@settings(deadline=None)
@given(ANY_TEXT)
def test_k1_upper_case_has_the_same_normal_form(text: str) -> None:
    assert normal_text(text.upper()) == normal_text(text)


@pytest.mark.parametrize(
    ("keyword", "cuts"),
    [
        ("ConnectionPool", [10]),
        ("HTTPServer", [4]),
        ("OAuth2Client", [1, 6]),
        ("ERR_TIMEOUT", []),
        ("ERR2TIMEOUT", []),
        ("connection", []),
        ("  Connection  Pool", []),
        ("数据源DataSource", [7]),
        ("数据 DataSource", [6]),
        ("StraßenBahn", [8]),
        ("ПулСоединений", [3]),
    ],
)
def test_k3_camel_case_parts_begin_at_their_capitals(keyword: str, cuts: list[int]) -> None:
    assert camel_cuts(keyword) == cuts


@pytest.mark.parametrize(
    ("text", "position", "is_edge"),
    [
        ("api", 0, True),
        ("api", 3, True),
        ("rapid", 1, False),
        ("gen-itgc", 4, True),
        ("err_timeout", 4, True),
        ("报错err", 2, True),
        ("err怎么", 3, True),
        ("超时", 1, True),
        ("カタカナ", 2, True),
        ("서버", 1, True),
        ("пул", 1, False),
        ("café", 3, False),
        ("v2", 1, False),
    ],
)
def test_k3_words_end_at_separators_and_at_cjk(text: str, position: int, is_edge: bool) -> None:
    assert is_word_edge(text, position) is is_edge
    assert any(start < position < end for start, end in letter_runs(text)) is not is_edge


@pytest.mark.parametrize(
    ("title", "words"), [("Connection Pool", 2), ("payment-errors", 2), ("Redis缓存", 2), ("Overview", 1), ("第2章", 1)]
)
def test_k5_words_of_a_title(title: str, words: int) -> None:
    assert word_count(title) == words
