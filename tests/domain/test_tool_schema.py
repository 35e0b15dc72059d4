"""The one definition of lookup_knowledge: what it says, and what it must not say (A1, Q10, M7)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.errors import UserError
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from kbapp.domain.tool_schema import LookupArguments, ToolSchema, lookup_tool, parse_arguments
from tests.test_prompts import holds_word, names_of_the_knowledge_base

TOOLS = [lookup_tool(language) for language in HintLanguage]


def texts(tool: ToolSchema) -> str:
    return "\n".join([tool.description, *(parameter.description for parameter in tool.parameters)])


def test_a1_the_schema_has_the_three_parameters_and_only_the_query_is_required() -> None:
    for tool in TOOLS:
        assert tool.name == "lookup_knowledge"
        schema = tool.to_json_schema()
        assert list(schema["properties"]) == ["query", "section_title", "missing_dimension"]  # type: ignore[arg-type]
        assert schema["required"] == ["query"]
        assert schema["additionalProperties"] is False
        assert tool.to_openai()["function"] == {
            "name": tool.name,
            "description": tool.description,
            "parameters": schema,
        }


def test_a1_the_description_says_how_it_searches_and_what_every_level_means() -> None:
    for tool, phrases in zip(
        TOOLS, (("优先按关键词精确匹配", "自动补充语义检索"), ("exactly first", "added")), strict=True
    ):
        for phrase in (*phrases, *(level.value for level in RelevanceLevel), "found=false", "retrievedDomains"):
            assert phrase in tool.description, phrase


def test_m7_no_text_asks_for_another_search() -> None:
    for tool in TOOLS:
        for phrase in ("再次检索", "继续查", "重新检索", "try again", "search again", "look it up again"):
            assert phrase not in texts(tool)


def test_q10_no_text_names_a_domain_or_a_document() -> None:
    for tool in TOOLS:
        assert [name for name in sorted(names_of_the_knowledge_base()) if holds_word(texts(tool), name)] == []


def test_arguments_are_cleaned_and_what_is_no_parameter_is_left_out() -> None:
    text = '{"query": " a\\n b\\u0000 ", "section_title": null, "missing_dimension": "  ", "force": true}'
    assert parse_arguments(text) == LookupArguments("a b")
    assert parse_arguments('{"query": "a", "section_title": "签名"}') == LookupArguments("a", "签名")


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(str))
def test_whatever_a_model_writes_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        assert parse_arguments(text).query


@pytest.mark.parametrize("text", ["", "null", '"query"', '{"query": null}', '{"query": true}'])
def test_arguments_without_a_query_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"query"):
        parse_arguments(text)
