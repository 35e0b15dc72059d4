"""The MCP server with the SDK's client in this process, in both protocol modes (A1, A2, Q10, M6)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult

from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import HintLanguage
from kbapp.domain.tool_schema import lookup_tool
from kbapp.prompts import executor_prompt
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.mcp_privacy import HiddenFolders, folders_of
from kbapp.surfaces.mcp_schema import result_schema
from kbapp.surfaces.mcp_server import DEFECT, NOT_FOUND, ServerOptions, build_server
from tests.knowledge import open_for_test, settings_for, write_documents
from tests.processes.mcp_samples import DOCUMENTS, QUERIES, comparable, text_of

T = TypeVar("T")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("mcp")
    write_documents(folder / "knowledge_base", DOCUMENTS)
    with open_for_test(folder) as kb:
        kb.reindex()
        yield kb


@pytest.fixture
def kb(opened: KnowledgeBase) -> KnowledgeBase:
    for session in ("s", "other"):
        opened.clear_session(session)
    return opened


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(
    kb: Any,
    mode: str,
    scenario: Callable[[Client], Awaitable[T]],
    *,
    session: str | None = "s",
    language: HintLanguage = HintLanguage.ZH,
    hidden: HiddenFolders | None = None,
) -> T:
    """What a client in one session makes of a server of its own."""
    server = build_server(kb, ServerOptions(language, lambda _: session, hidden or HiddenFolders({})))

    async def connected() -> T:
        async with Client(server, mode=mode) as client:
            return await scenario(client)

    return anyio.run(connected)


def call(
    kb: Any, mode: str, arguments: dict[str, Any], name: str = "lookup_knowledge", **others: Any
) -> CallToolResult:
    return run(kb, mode, lambda client: client.call_tool(name, arguments), **others)


def read(kb: Any, mode: str, uri: str, session: str | None = "s") -> str:
    """The text of a resource, or the sentence of the error."""

    async def scenario(client: Client) -> str:
        try:
            (content,) = (await client.read_resource(uri)).contents
        except MCPError as error:
            return str((error.code, error.message, error.data))
        return str(content.text)  # type: ignore[union-attr]  # a document is no blob

    return run(kb, mode, scenario, session=session)


@pytest.mark.parametrize("language", list(HintLanguage))
def test_a2_the_only_tool_is_the_one_of_the_shared_definition(
    kb: KnowledgeBase, mode: str, language: HintLanguage
) -> None:
    (tool,) = run(kb, mode, lambda client: client.list_tools(), language=language).tools
    shared = lookup_tool(language)
    assert (tool.name, tool.description) == (shared.name, shared.description)
    assert tool.input_schema == shared.to_json_schema()
    assert tool.output_schema == result_schema()
    function: Any = shared.to_openai()["function"]
    assert function["parameters"] == tool.input_schema


def test_a1_structured_answers_are_those_of_a_lookup_with_the_same_history(kb: KnowledgeBase, mode: str) -> None:
    async def scenario(client: Client) -> list[Any]:
        return [(await client.call_tool("lookup_knowledge", {"query": query})).structured_content for query in QUERIES]

    answers = run(kb, mode, scenario)
    expected = [kb.lookup(query, session_id="other").to_dict() for query in QUERIES]
    assert [comparable(answer) for answer in answers] == [comparable(answer) for answer in expected]
    assert {answer["relevanceLevel"] for answer in answers} >= {"PRECISE", "DEDUPED", None}
    for answer in answers:
        jsonschema.validate(answer, result_schema())
    ids = {row.id for row in kb.telemetry(session_id="s")}
    assert ids >= {answer["invocationId"] for answer in answers}


def test_a1_sections_and_dimensions_reach_the_lookup(kb: KnowledgeBase, mode: str) -> None:
    arguments = {"query": "ERR_TIMEOUT", "section_title": "签名", "missing_dimension": "验签算法"}
    answer: Any = call(kb, mode, arguments).structured_content
    assert answer["primary"]["content"] == "## 签名\n\n验签失败。"
    row = kb.telemetry(session_id="s")[0]
    assert (row.section_title, row.missing_dimension) == ("签名", "验签算法")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "query is missing: say in a few words what you are looking for"),
        ({"query": " \u0000"}, "query is missing: say in a few words what you are looking for"),
        ({"query": 7}, "query is not a text: send a string"),
        ({"query": "x", "section_title": ["签名"]}, "section_title is not a text: send a string"),
        (
            {"query": "长" * 5000},
            "the query has 5000 characters, at most 2000 are allowed (retrieval.query.max-characters):"
            " ask for one thing in a few words",
        ),
    ],
)
def test_a2_a_call_that_is_refused_is_one_sentence_and_a_row(
    kb: KnowledgeBase, mode: str, arguments: dict[str, Any], sentence: str
) -> None:
    before = len(kb.telemetry(session_id="s", outcomes=[Outcome.ERROR]))
    result = call(kb, mode, arguments)
    assert (result.is_error, text_of(result), result.structured_content) == (True, sentence, None)
    assert len(kb.telemetry(session_id="s", outcomes=[Outcome.ERROR])) == before + 1


def test_arguments_that_are_no_parameters_change_nothing(kb: KnowledgeBase, mode: str) -> None:
    call(kb, mode, {"query": "ERR_TIMEOUT", "session_id": "other", "force": True})
    assert not kb.session("other").calls
    again: Any = call(kb, mode, {"query": "ERR_TIMEOUT", "force": True}).structured_content
    assert again["dedupReason"] == "doc_retrieved"


def test_an_unknown_tool_is_told_which_one_there_is(kb: KnowledgeBase, mode: str) -> None:
    result = call(kb, mode, {}, "list_documents")
    assert (result.is_error, text_of(result)) == (True, "the only tool is lookup_knowledge")


class Broken:
    """A knowledge base that fails in a way nobody foresaw."""

    base_folder = "knowledge_base"

    def lookup(self, *_: object, **__: object) -> None:
        raise RuntimeError("/home/somebody/secret")

    def session(self, _: str) -> None:
        raise RuntimeError("/home/somebody/secret")


def test_of_a_defect_a_client_learns_only_that_there_is_one(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    result = call(Broken(), mode, {"query": "x"})
    assert (result.is_error, text_of(result)) == (True, DEFECT)
    assert read(Broken(), mode, "kbapp://document/api/payment.md") == str((-32603, DEFECT, None))
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert "/home/somebody/secret" in caplog.text


def test_a_fault_names_no_folder_of_this_machine(kb: KnowledgeBase, mode: str, tmp_path: Path) -> None:
    settings = settings_for(tmp_path)

    class Degraded:
        def lookup(self, *_: object, **__: object) -> object:
            return replace(kb.lookup("ERR_TIMEOUT"), degraded=f"{settings.state_folder}/milvus.db is busy")

    answer: Any = call(Degraded(), mode, {"query": "x"}, hidden=folders_of(settings)).structured_content
    assert answer["degraded"] == "(state-dir)/milvus.db is busy"
    sentence = f"{settings.base_folder}/a.md, {Path.home()}/x and {settings.project_root}/y"
    assert folders_of(settings).hide(sentence) == "knowledge_base/a.md, ~/x and (project)/y"


@pytest.mark.parametrize("path", ["api/payment.md", "knowledge_base/api/payment.md", "api%2Fpayment.md"])
def test_q10_a_document_that_the_session_was_given_can_be_read(kb: KnowledgeBase, mode: str, path: str) -> None:
    kb.lookup("ERR_TIMEOUT", session_id="s")
    assert "# 支付网关错误码" in read(kb, mode, f"kbapp://document/{path}")


@pytest.mark.parametrize(
    "uri",
    [
        "kbapp://document/secret/salary.md",
        "kbapp://document/knowledge_base/secret/salary.md",
        "kbapp://document/secret/nothing.md",
        "kbapp://document/../state/kbapp.sqlite3",
        "kbapp://document/api/../secret/salary.md",
        "kbapp://document/",
        "kbapp://document/%00%FF",
        "file:///etc/passwd",
        "api/payment.md",
    ],
)
def test_q10_of_any_other_document_the_answer_is_the_same_whether_there_is_one_or_not(
    kb: KnowledgeBase, mode: str, uri: str
) -> None:
    kb.lookup("ERR_TIMEOUT", session_id="s")
    kb.lookup("薪酬", session_id="other")
    assert read(kb, mode, uri) == str((-32602, NOT_FOUND, None))


def test_q10_a_document_that_was_only_mentioned_cannot_be_read(kb: KnowledgeBase, mode: str) -> None:
    result = kb.lookup("灰度出现错误时立即回滚到上一个版本", session_id="s")
    assert result.primary is not None
    assert result.supplement is not None
    assert set(kb.session("s").documents["ops"]) == {result.supplement.source.removeprefix("knowledge_base/")}
    for path in ("ops/deploy.md", "ops/rollback.md"):
        is_given = path in kb.session("s").documents["ops"]
        assert (NOT_FOUND in read(kb, mode, f"kbapp://document/{path}")) is not is_given


def test_q10_without_a_session_no_document_can_be_read(kb: KnowledgeBase, mode: str) -> None:
    assert not call(kb, mode, {"query": "ERR_TIMEOUT"}, session=None).is_error
    assert NOT_FOUND in read(kb, mode, "kbapp://document/api/payment.md", session=None)
    assert run(kb, mode, lambda client: client.list_resources(), session=None).resources == []


def test_q10_a_given_document_that_is_gone_is_not_found(tmp_path: Path, mode: str) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/payment.md": DOCUMENTS["api/payment.md"]})
    with open_for_test(tmp_path) as kb:
        kb.lookup("ERR_TIMEOUT", session_id="s")
        (tmp_path / "knowledge_base/api/payment.md").unlink()
        assert NOT_FOUND in read(kb, mode, "kbapp://document/api/payment.md")


def test_the_resources_are_the_documents_that_the_session_was_given(kb: KnowledgeBase, mode: str) -> None:
    kb.lookup("ERR_TIMEOUT", session_id="s")
    kb.lookup("薪酬", session_id="other")
    (resource,) = run(kb, mode, lambda client: client.list_resources()).resources
    assert (resource.name, resource.uri) == ("api/payment.md", "kbapp://document/api/payment.md")


def test_q10_nothing_that_a_client_can_list_names_what_the_knowledge_base_holds(kb: KnowledgeBase, mode: str) -> None:
    async def scenario(client: Client) -> str:
        listed = [
            client.server_capabilities,
            await client.list_tools(),
            await client.list_resources(),
            await client.list_resource_templates(),
            await client.list_prompts(),
            await client.get_prompt("executor"),
        ]
        return "".join(each.model_dump_json() for each in listed)

    told = run(kb, mode, scenario)
    held = {word for path in DOCUMENTS for word in (path, path.split("/")[1])}
    held |= {record.title for record in kb.documents()} | {key for entry in kb.entries() for key in entry.keywords}
    assert [word for word in held if word in told] == []


@pytest.mark.parametrize("language", list(HintLanguage))
def test_m6_the_prompt_is_the_executor_prompt_in_either_language(
    kb: KnowledgeBase, mode: str, language: HintLanguage
) -> None:
    async def scenario(client: Client) -> list[str]:
        (prompt,) = (await client.list_prompts()).prompts
        assert [argument.name for argument in prompt.arguments or []] == ["language"]
        asked = [None, {"language": "zh"}, {"language": "en"}]
        got = [(await client.get_prompt(prompt.name, each)).messages for each in asked]
        return [message.content.text for (message,) in got]  # type: ignore[union-attr]  # it is text

    default, chinese, english = run(kb, mode, scenario, language=language)
    assert default == executor_prompt(language.value)
    assert (chinese, english) == (executor_prompt("zh"), executor_prompt("en"))


@pytest.mark.parametrize(
    ("name", "language", "sentence"),
    [
        ("executor", "fr", "there is no executor prompt in 'fr': choose zh or en"),
        ("other", "en", "the only prompt is executor"),
    ],
)
def test_an_unknown_prompt_or_language_is_a_sentence(
    kb: KnowledgeBase, mode: str, name: str, language: str, sentence: str
) -> None:
    async def scenario(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, {"language": language})
        assert (caught.value.code, caught.value.message) == (-32602, sentence)

    run(kb, mode, scenario)
