"""The LLM executor with a scripted model on this machine and a real knowledge base (A3)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from kbapp.adapters.chat_endpoint import ChatEndpoint, ChatOptions
from kbapp.domain.errors import UserError
from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from kbapp.domain.tasks import Task
from kbapp.domain.tool_schema import lookup_tool
from kbapp.domain.transcript import Entry, ExecutorCall, ExecutorKind, SkippedStep, Transcript
from kbapp.prompts import executor_prompt
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.llm_executor import MAX_CALLS, LlmExecutor
from tests.chat_server import ChatServer, Reply, asks, calls, says, serve_chat
from tests.knowledge import document, open_for_test, write_documents

KEY = "sk-secret-0123456789"
TASK = Task("t", "ERR_TIMEOUT 是什么？", ("计划里的一步",), ("api/payment.md",))
PAYMENT = document("支付网关错误码", "ERR_TIMEOUT", "## 超时类错误\n\n请求超时。\n\n## 签名\n\n验签失败。")


@dataclass
class Rig:
    """A model that follows a script, and the knowledge base that it looks things up in."""

    kb: KnowledgeBase
    server: ChatServer
    told: list[Entry] = field(default_factory=list)

    def run(self, *script: Reply, language: HintLanguage = HintLanguage.ZH) -> Transcript:
        self.server.script = list(script)
        endpoint = ChatEndpoint(ChatOptions(self.server.base_url, "m", KEY))
        return LlmExecutor(self.kb, endpoint, language).run(TASK, "s", self.told.append)

    def tool_answers(self) -> list[dict[str, object]]:
        """What the model was told by the tool, up to its last request."""
        return [json.loads(text) for text in self.server.told("tool")]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("llm")
    write_documents(folder / "knowledge_base", {"api/payment.md": PAYMENT})
    with open_for_test(folder) as kb:
        kb.reindex()
        yield kb


@pytest.fixture
def rig(opened: KnowledgeBase) -> Iterator[Rig]:
    opened.clear_session("s")
    with serve_chat() as server:
        yield Rig(opened, server)


@pytest.mark.parametrize("language", list(HintLanguage))
def test_a3_the_model_gets_the_executor_prompt_the_goal_and_the_tool_and_nothing_else(
    rig: Rig, language: HintLanguage
) -> None:
    rig.run(says("好"), language=language)
    assert rig.server.requests == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": executor_prompt(language.value)},
                {"role": "user", "content": TASK.goal},
            ],
            "tools": [lookup_tool(language).to_openai()],
            "stream": True,
        }
    ]


def test_a_model_that_looks_up_once_and_answers(rig: Rig) -> None:
    transcript = rig.run(asks("ERR_TIMEOUT"), says(" 支付网关超时。\n"))
    assert (transcript.executor, transcript.answer) == (ExecutorKind.LLM, "支付网关超时。")
    (call,) = transcript.calls
    assert (call.step, call.query, call.result.relevance_level) == (None, "ERR_TIMEOUT", RelevanceLevel.PRECISE)
    assert rig.tool_answers() == [call.result.to_dict()]
    assert rig.told == [call]


def test_sections_and_dimensions_reach_the_tool_and_the_transcript(rig: Rig) -> None:
    call = rig.run(asks("ERR_TIMEOUT", section_title=" 签名 ", missing_dimension=""), says("好")).calls[0]
    assert (call.section_title, call.missing_dimension) == ("签名", None)
    assert call.result.primary is not None
    assert "验签失败" in call.result.primary.content
    assert rig.kb.telemetry(session_id="s")[0].section_title == "签名"


def test_calls_in_one_answer_are_made_one_after_the_other_and_each_is_answered(rig: Rig) -> None:
    both = says("查两次", calls({"query": "ERR_TIMEOUT"}, call_id="a"), calls({"query": "ERR_TIMEOUT"}, call_id="b"))
    transcript = rig.run(both, says("好"))
    assert [call.result.relevance_level for call in transcript.calls] == [
        RelevanceLevel.PRECISE,
        RelevanceLevel.DEDUPED,
    ]
    answered = [message["tool_call_id"] for message in rig.server.requests[-1]["messages"] if message["role"] == "tool"]
    assert answered == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "name", "reason"),
    [
        ('{"query": ', "lookup_knowledge", "the arguments are not a JSON object"),
        ("[1]", "lookup_knowledge", "the arguments are not a JSON object"),
        ("[" * 100_000, "lookup_knowledge", "the arguments are not a JSON object"),
        ("{}", "lookup_knowledge", "query is missing"),
        ('{"query": " "}', "lookup_knowledge", "query is missing"),
        ('{"query": 7}', "lookup_knowledge", "query is not a text"),
        ('{"query": "x", "section_title": ["签名"]}', "lookup_knowledge", "section_title is not a text"),
        ('{"query": "%s"}' % ("长" * 5000), "lookup_knowledge", "the query has 5000 characters"),
        ('{"query": "x"}', "list_documents", "the only tool is lookup_knowledge"),
    ],
)
def test_a_call_that_cannot_be_made_is_told_to_the_model_which_goes_on(
    rig: Rig, arguments: str, name: str, reason: str
) -> None:
    transcript = rig.run(says("", calls(arguments, name)), asks("ERR_TIMEOUT"), says("好"))
    refused = transcript.entries[0]
    assert isinstance(refused, SkippedStep)
    assert refused.reason.startswith(f"refused: {reason}")
    assert refused.step is None
    assert rig.tool_answers()[0] == {"error": refused.reason}
    assert len(transcript.calls) == 1
    assert transcript.answer == "好"


def test_arguments_that_are_no_parameters_are_left_out(rig: Rig) -> None:
    transcript = rig.run(asks("ERR_TIMEOUT", session_id="other", force="true"), says("好"))
    assert rig.kb.telemetry(session_id="s")[0].id == transcript.calls[0].result.invocation_id


def test_a_model_that_asks_for_ever_is_stopped_and_asked_for_its_answer(rig: Rig) -> None:
    transcript = rig.run(*[asks("ERR_TIMEOUT")] * MAX_CALLS, says("写到这里"))
    assert len(transcript.calls) == MAX_CALLS == 30
    assert sum(call.result.relevance_level is RelevanceLevel.DEDUPED for call in transcript.calls) == 29
    assert transcript.answer == "写到这里"
    assert "tools" in rig.server.requests[-2]
    assert "tools" not in rig.server.requests[-1]
    assert "请停止检索" in rig.server.told("user")[-1]
    blocked = [row for row in rig.kb.telemetry(session_id="s", outcomes=[Outcome.DEDUPED]) if row.id in str(transcript)]
    assert len(blocked) == 29


def test_calls_that_can_never_be_made_end_as_well(rig: Rig) -> None:
    transcript = rig.run(*[says("", calls("{"))] * MAX_CALLS, says("好"))
    assert len(transcript.entries) == MAX_CALLS
    assert transcript.calls == ()


def test_a_hundred_calls_in_one_answer_are_all_answered_and_30_made(rig: Rig) -> None:
    many = says("", *(calls({"query": "ERR_TIMEOUT"}, call_id=f"c{number}") for number in range(100)))
    transcript = rig.run(many, says("好"))
    assert len(transcript.entries) == MAX_CALLS
    answers = rig.tool_answers()
    assert len(answers) == 100
    assert answers[MAX_CALLS] == {"error": "本任务的检索次数已用完，这次调用没有执行"}


def test_a_model_that_calls_on_when_it_may_not_gives_no_answer(rig: Rig) -> None:
    with pytest.raises(UserError, match=r"m at http://127\.0\.0\.1.*an empty answer: set llm\.model to another model"):
        rig.run(asks("ERR_TIMEOUT"))


def test_an_empty_answer_is_asked_for_again_without_the_tool(rig: Rig) -> None:
    assert rig.run(asks("ERR_TIMEOUT"), says("  "), says("好")).answer == "好"
    last = rig.server.requests[-1]
    assert "tools" not in last
    assert [message["role"] for message in last["messages"]] == ["system", "user", "assistant", "tool", "user"]


def test_a_model_that_says_nothing_at_all_is_named(rig: Rig) -> None:
    with pytest.raises(UserError, match=r"m at http://127\.0\.0\.1.*an empty answer"):
        rig.run(says(None))


def test_a_server_that_fails_halfway_is_a_sentence_and_what_was_done_was_told(rig: Rig) -> None:
    with pytest.raises(UserError, match=r"HTTP 401: it refused the key, check llm\.api-key"):
        rig.run(asks("ERR_TIMEOUT"), Reply(401, KEY.encode()))
    assert [isinstance(entry, ExecutorCall) for entry in rig.told] == [True]


def test_the_key_is_in_no_row_even_when_the_model_knows_it(rig: Rig) -> None:
    transcript = rig.run(asks(f"Bearer {KEY}"), says(KEY))
    rows = rig.kb.select("SELECT * FROM tool_invocation").rows
    assert "Bearer ***" in str(rows)
    assert KEY not in str(rows) + json.dumps(transcript.to_dict())
