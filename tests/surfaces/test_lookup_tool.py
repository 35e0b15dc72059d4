"""``lookup_tool``: the tool for Python and for a model behind an OpenAI-compatible endpoint (A2)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp import lookup_tool
from kbapp.domain import tool_schema
from kbapp.domain.errors import UserError
from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import HintLanguage
from kbapp.service.knowledge_base import KnowledgeBase
from tests.knowledge import open_for_test, write_documents
from tests.processes.mcp_samples import DOCUMENTS, QUERIES, comparable


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


@pytest.mark.parametrize("language", ["zh", HintLanguage.EN])
def test_a2_the_schema_is_the_shared_one_in_the_form_of_openai(kb: KnowledgeBase, language: str) -> None:
    tool = lookup_tool(kb, language=language)
    assert tool.schema == tool_schema.lookup_tool(HintLanguage(language)).to_openai()
    assert tool.name == "lookup_knowledge"
    assert json.loads(json.dumps(tool.schema)) == tool.schema


def test_a2_its_answers_are_those_of_a_lookup_with_the_same_history_and_leave_rows(kb: KnowledgeBase) -> None:
    tool = lookup_tool(kb, session_id="s")
    answers = [tool(query) for query in QUERIES]
    expected = [kb.lookup(query, session_id="other").to_dict() for query in QUERIES]
    assert [comparable(answer) for answer in answers] == [comparable(answer) for answer in expected]
    rows = kb.telemetry(session_id="s")
    assert [row.id for row in reversed(rows)] == [answer["invocationId"] for answer in answers]


def test_a2_a_models_call_is_answered_as_json_that_keeps_chinese_readable(kb: KnowledgeBase) -> None:
    arguments = json.dumps({"query": "ERR_TIMEOUT", "section_title": "签名", "missing_dimension": "算法"})
    content = lookup_tool(kb, session_id="s").answer(arguments)
    assert "验签失败" in content
    assert json.loads(content)["relevanceLevel"] == "PRECISE"
    row = kb.telemetry(session_id="s")[0]
    assert (row.section_title, row.missing_dimension) == ("签名", "算法")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("{", "the arguments are not a JSON object"),
        ("{}", "query is missing"),
        ('{"query": 1}', "query is not a text"),
        ('{"query": "%s"}' % ("x" * 3000), "the query has 3000 characters"),
    ],
)
def test_a_call_that_cannot_be_made_is_told_to_the_model(kb: KnowledgeBase, arguments: str, sentence: str) -> None:
    assert json.loads(lookup_tool(kb).answer(arguments))["error"].startswith(sentence)


def test_each_tool_is_a_conversation_unless_it_is_told_which(kb: KnowledgeBase) -> None:
    def levels(session: str | None) -> list[object]:
        return [lookup_tool(kb, session_id=session)("ERR_TIMEOUT")["relevanceLevel"] for _ in range(2)]

    assert levels(None) == ["PRECISE", "PRECISE"]
    assert levels("s") == ["PRECISE", "DEDUPED"]
    tool = lookup_tool(kb)
    assert [tool("ERR_TIMEOUT")["relevanceLevel"] for _ in range(2)] == ["PRECISE", "DEDUPED"]


def test_what_a_program_asks_wrongly_is_an_error_and_a_row(kb: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="the query is empty"):
        lookup_tool(kb, session_id="s")(" ")
    assert [row.outcome for row in kb.telemetry(session_id="s")] == [Outcome.ERROR]
    with pytest.raises(UserError, match="choose zh or en"):
        lookup_tool(kb, language="fr")


def test_importing_the_package_loads_neither_the_sdk_nor_the_tool() -> None:
    code = "import sys, kbapp; print(sorted({'mcp', 'kbapp.surfaces.tool', 'pymilvus'} & set(sys.modules)))"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"


def test_no_other_command_loads_the_sdk() -> None:
    code = "import sys, kbapp.surfaces.cli; print('mcp' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "False\n"
