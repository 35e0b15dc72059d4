"""Keywords of a frontmatter (F4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.documents import JsonValue
from kbapp.domain.frontmatter import parse, parse_keywords

WRITTEN = {
    "a list": ("keywords: [ERR_TIMEOUT, 超时, 支付网关]", ("ERR_TIMEOUT", "超时", "支付网关")),
    "a block list": ("keywords:\n  - ERR_TIMEOUT\n  - 超时", ("ERR_TIMEOUT", "超时")),
    "a block list without indentation": ("keywords:\n- a1\n- b1", ("a1", "b1")),
    "a string with commas": ("keywords: redis, cache", ("redis", "cache")),
    "a string with all separators": (
        "keywords: 超时，网关、redis;cache；a, b",
        ("超时", "网关", "redis", "cache", "a", "b"),
    ),
    "a string with blanks only": ("keywords: redis cache", ("redis cache",)),
    "a text block": ("keywords: |\n  redis\n  cache\n", ("redis", "cache")),
    "scalars as written": (
        "keywords: [2024-01-01, 502, true, 1:30, on, 007, 1.10, null]",
        ("2024-01-01", "502", "true", "1:30", "on", "007", "1.10", "null"),
    ),
    "one number": ("keywords: 502", ("502",)),
    "an empty list": ("keywords: []", ()),
    "nothing": ("keywords:", ()),
    "empty members": ("keywords: ['', ' ', ~x, \"\\u200b\"]", ("~x",)),
    "only separators": ('keywords: ",， 、;"', ()),
    "repeated": ("keywords: [Redis, redis, ＲＥＤＩＳ, ' Redis ', 超时, 超时]", ("Redis", "超时")),
    "a full-width comma in a list": ("keywords: [超时，网关、缓存]", ("超时", "网关", "缓存")),
    "a comma in quotes": ('keywords: ["Hello, world"]', ("Hello, world",)),
    "inner lists": ("keywords: [a1, [b1, [c1]]]", ("a1", "b1", "c1")),
    "a colon in a member": ("keywords:\n  - ERR_TIMEOUT: 支付超时\n  - 网关:", ("ERR_TIMEOUT: 支付超时", "网关")),
    "deeper mappings": ("keywords:\n  - a1: [b1]\n  - c1", ("c1",)),
    "line breaks in a member": ('keywords:\n  - "two\n    lines"', ("two lines",)),
}


@pytest.mark.parametrize(("yaml", "keywords"), WRITTEN.values(), ids=WRITTEN.keys())
def test_f4_keywords_are_read_however_they_are_written(yaml: str, keywords: tuple[str, ...]) -> None:
    frontmatter = parse(f"---\n{yaml}\n---\n")
    assert frontmatter is not None
    assert frontmatter.keywords == keywords


VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_f4_keywords_are_trimmed_never_empty_and_never_twice(value: JsonValue) -> None:
    keywords = parse_keywords(value)
    assert all(keyword and keyword == keyword.strip() and "\n" not in keyword for keyword in keywords)
    assert len({keyword.casefold() for keyword in keywords}) == len(keywords)


@given(st.lists(st.text("abcß超时ERR_", min_size=2, max_size=8), min_size=1, max_size=6), st.sampled_from(",，、;；"))
def test_f4_a_string_gives_the_same_keywords_as_a_list_and_no_single_letters(words: list[str], separator: str) -> None:
    keywords = parse_keywords(f"{separator} ".join(words))
    assert keywords == parse_keywords(list(words))
    assert all(len(keyword) > 1 for keyword in keywords)
