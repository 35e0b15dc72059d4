import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.tokens import content_tokens, tokens_of


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("ERR_TIMEOUT", ["err_timeout", "err", "timeout"]),
        ("支付网关", ["支付", "付网", "网关"]),
        ("限", ["限"]),
        ("connectionPool", ["connectionpool", "connection", "pool"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("a.b-c", ["a.b-c"]),
        ("spring.cloud.ans", ["spring.cloud.ans", "spring", "cloud", "ans"]),
        ("报错ERR_TIMEOUT了", ["报错", "err_timeout", "err", "timeout", "了"]),
        ("ＥＲＲ＿ＴＩＭＥＯＵＴ", ["err_timeout", "err", "timeout"]),
        ("api/支付", ["api", "支付"]),
        ("café Größe", ["café", "größe"]),
        ("?!… 。", []),
    ],
)
def test_tokens_of(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


def test_content_tokens_leave_out_what_only_asks() -> None:
    assert content_tokens("支付网关怎么配置？") == ["支付", "付网", "网关", "配置"]
    assert content_tokens("How do I configure the pool?") == ["configure", "pool"]
    assert content_tokens("的了吗呢") == []


@given(st.text())
def test_tokens_hold_no_space_or_quote_that_full_text_would_read_as_syntax(text: str) -> None:
    for token in tokens_of(text):
        assert token
        assert not any(character.isspace() or character in "\"'*()" for character in token)


@pytest.mark.parametrize(
    "text", ["_" * 50_000, "a." * 50_000, "-" * 50_000, "支" * 50_000, "aB" * 50_000, "a支" * 50_000]
)
def test_long_runs_are_cut_too(text: str) -> None:
    assert isinstance(tokens_of(text), list)
