"""The JSON form of a result, there and back (A1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.documents import JsonValue
from kbapp.domain.lookup_result import (
    Confidence,
    DedupReason,
    LookupResult,
    PrimaryResult,
    SupplementResult,
    parse_result,
)
from kbapp.domain.relevance import RelevanceLevel

TEXTS = st.text(max_size=20)
TUPLES = st.lists(TEXTS, max_size=3).map(tuple)
RESULTS = st.builds(
    LookupResult,
    found=st.booleans(),
    primary=st.none() | st.builds(PrimaryResult, TEXTS, TEXTS, TEXTS, st.sampled_from(Confidence), st.none() | TUPLES),
    supplement=st.none() | st.builds(SupplementResult, TEXTS, TEXTS, TEXTS, TEXTS),
    relevance_level=st.none() | st.sampled_from(RelevanceLevel),
    completeness_hint=st.none() | TEXTS,
    retrieved_domains=TUPLES,
    message=st.none() | TEXTS,
    dedup_reason=st.none() | st.sampled_from(DedupReason),
    degraded=st.none() | TEXTS,
    invocation_id=TEXTS,
)


@given(RESULTS)
def test_t7_a_result_comes_back_from_its_json(result: LookupResult) -> None:
    assert parse_result(result.to_dict()) == result


@pytest.mark.parametrize("value", [None, [], "text", {}, {"found": True}])
def test_t7_what_is_no_result_is_none(value: JsonValue) -> None:
    assert parse_result(value) is None
