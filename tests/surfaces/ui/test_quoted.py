"""Text from files and queries on the screen: as it is written, never as markup."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from kbapp.surfaces.ui.quoted import marked_html, plain

HOSTILE = st.text(alphabet="<>&\"'ab支付 \n*_[](){}:$`~#\\!|", max_size=60)


@given(HOSTILE, st.lists(HOSTILE, max_size=3))
def test_the_only_tags_are_marks_and_the_text_is_whole(text: str, words: list[str]) -> None:
    html = marked_html(text, words)
    assert set(re.findall(r"<[^>]*>", html)) <= {"<mark>", "</mark>"}
    assert unescape(re.sub(r"</?mark>", "", html)) == text


def test_words_are_marked_in_any_case_and_latin_ones_as_a_whole() -> None:
    assert marked_html("Timeout timeouts 超时时间", ["timeout", "超时"]) == (
        "<mark>Timeout</mark> timeouts <mark>超时</mark>时间"
    )
    assert marked_html("ERR_TIMEOUT", ["timeout"]) == "ERR_<mark>TIMEOUT</mark>"
    assert marked_html("a & b", [" ", ""]) == "a &amp; b"


@given(HOSTILE)
def test_a_plain_text_is_one_line_without_a_bare_sign(text: str) -> None:
    line = plain(text)
    assert "\n" not in line
    assert not re.search(r"(?<!\\)(?:\\\\)*[*_\[\]()`<>$:#~|!]", line)
