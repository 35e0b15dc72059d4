"""Hostile texts: what parsers stumble over, in any order; and how many of them are tried.

``FUZZ_TIMES=50 pytest tests/fuzz`` tries fifty times as many, each time others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from kbapp.domain.errors import UserError

T = TypeVar("T")

_TIMES = int(os.environ.get("FUZZ_TIMES", "1"))

MARKS = [
    "---\n", "---", "--- ", "...\n", "\n", "\n\n", "\r\n", "\r", "\t", "    ", "\u2028", "\x0b", "\x0c", "\x85",
    "\x00", "\x1b[31m", "\ufeff", "\u200b", "\u202e", "\ufffd", "\ud800", "title: ", "keywords: [", "keywords:\n- ",
    "summary: >", ": ", "- ", "? ", "&a ", "*a", "<<: *a", "!!python/object:x ", "!!binary ", "[", "]", "{", "}",
    ", ", "'", '"', "|\n", "%YAML 1.1\n", "~", "null", "1e999", "0x_", "2024-13-45", "true", "# ", "## ",
    "####### ", "===\n", "```\n", "~~~\n", "> ", "* ", "1. ", "| a | b |\n", "|---|---|\n", "<h1>", "</h1>",
    "<div>", "<!--", "-->", "<a name='x'></a>", "<img alt=\"", "<script>", "<![CDATA[", "&amp;", "&#0;", "![x](y)",
    "[x]: y\n", "{#id}", "\\", "`", "**", "_", "$$", "支付网关", "超时。", "，", "（",
    "）", "“", "ＡＢＣ", "㍿", "é", "e\u0301",
    "İ", "ß", "ﬁ", "👨‍👩‍👧", "한", "ERR_TIMEOUT", "connectionPool", "v1.2-rc", "a" * 130, "字" * 130, "x.y/z:@",
    "%s%n", "' OR 1=1 --", "../", "{{", "${x}",
]  # fmt: skip


def fuzz(examples: int) -> settings:
    """So many examples, always the same unless more of them are asked for."""
    return settings(
        max_examples=examples * _TIMES,
        derandomize=_TIMES == 1,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def outcome(call: Callable[[], T]) -> T | UserError:
    """What a call gives; a refusal is one, if it says something."""
    try:
        return call()
    except UserError as error:
        if not str(error).strip():
            raise
        return error


texts = st.lists(st.sampled_from(MARKS) | st.text(max_size=4), max_size=24).map("".join) | st.lists(
    st.sampled_from(MARKS), min_size=1, max_size=3
).map(lambda marks: "".join(marks) * 40)
encodings = st.sampled_from(["utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-le", "big5", "shift-jis", "latin-1"])
files = st.binary(max_size=60) | st.builds(lambda text, name: text.encode(name, "replace"), texts, encodings)
