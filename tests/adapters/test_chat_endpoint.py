"""The chat endpoint against a server on this machine: what is sent, and every fault a server can have (A3)."""

from __future__ import annotations

import importlib.util
import logging
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from kbapp.adapters.chat_endpoint import ChatEndpoint, ChatOptions
from kbapp.domain.chat import ChatMessage, ChatReply, SystemMessage, ToolCall, ToolMessage, UserMessage
from kbapp.domain.errors import UserError
from kbapp.domain.relevance import HintLanguage
from kbapp.domain.tool_schema import lookup_tool
from tests.chat_server import STREAM, ChatServer, Reply, calls, says, serve_chat, streams

KEY = "sk-secret-0123456789"
HELLO = [UserMessage("你好")]
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serve_chat() as server:
        yield server


@dataclass
class Patience:
    """Notes the waits instead of waiting."""

    waits: list[float] = field(default_factory=list)

    def endpoint(self, server: ChatServer, **options: object) -> ChatEndpoint:
        values: dict[str, object] = {"base_url": server.base_url, "model": "m", "api_key": KEY} | options
        return ChatEndpoint(ChatOptions(**values), self.waits.append)  # type: ignore[arg-type]  # fields that exist


def refusal(endpoint: ChatEndpoint) -> str:
    with pytest.raises(UserError) as error:
        endpoint.reply(HELLO, [])
    return str(error.value)


def test_the_conversation_the_tool_the_model_and_the_key_are_sent(server: ChatServer) -> None:
    call = ToolCall("call_7", "lookup_knowledge", '{"query": "缓存"}')
    messages: list[ChatMessage] = [SystemMessage("规则"), *HELLO]
    messages += [ChatReply("好", (call,)), ToolMessage("call_7", "{}"), ChatReply("完")]
    tool = lookup_tool(HintLanguage.ZH)
    assert Patience().endpoint(server).reply(messages, [tool]) == ChatReply("完成")
    assert server.requests == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "规则"},
                {"role": "user", "content": "你好"},
                {
                    "role": "assistant",
                    "content": "好",
                    "tool_calls": [
                        {
                            "id": "call_7",
                            "type": "function",
                            "function": {"name": "lookup_knowledge", "arguments": '{"query": "缓存"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "call_7", "content": "{}"},
                {"role": "assistant", "content": "完"},
            ],
            "tools": [tool.to_openai()],
            "stream": True,
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions", "/chat/completions/"])
def test_the_address_may_end_in_the_forms_people_copy(server: ChatServer, ending: str) -> None:
    Patience().endpoint(server, base_url=f" {server.base_url}{ending} ").reply(HELLO, [])
    assert server.paths == ["/v1/chat/completions"]


def test_without_a_key_none_of_the_environment_is_sent_nor_is_a_proxy_asked(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    Patience().endpoint(server, api_key="").reply(HELLO, [])
    assert KEY not in str(server.headers)


def test_text_that_no_request_can_carry_is_sent_without_it(server: ChatServer) -> None:
    Patience().endpoint(server).reply([UserMessage("a\ud800b")], [])
    assert server.told("user") == ["a?b"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (says("好"), ChatReply("好")),
        (says(None), ChatReply("")),
        (says([{"type": "text", "text": "一"}, {"type": "image"}, {"type": "text", "text": "二"}]), ChatReply("一二")),
        (says("", calls({"query": "x"}), calls("{", call_id="2")), "two"),
        (says("", {"function": {"name": "f", "arguments": {"query": "缓存"}}}), '{"query": "缓存"}'),
        (says("", {"function": {"name": "f"}}), ""),
    ],
)
def test_answers_in_the_forms_that_servers_give_are_read(
    server: ChatServer, reply: Reply, expected: ChatReply | str
) -> None:
    server.script = [reply]
    answer = Patience().endpoint(server).reply(HELLO, [])
    if isinstance(expected, ChatReply):
        assert answer == expected
    elif expected == "two":
        assert [call.arguments for call in answer.tool_calls] == ['{"query": "x"}', "{"]
    else:
        assert [(call.id, call.arguments) for call in answer.tool_calls] == [("call_0", expected)]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (streams({"content": "你"}, {"content": "好"}, {}), ChatReply("你好")),
        (streams({"content": None, "tool_calls": None}), ChatReply("")),
        (
            streams(
                {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"query": '}}]},
                {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "f", "arguments": "{}"}}]},
                {"tool_calls": [{"index": 0, "function": {"arguments": '"缓存"}'}}]},
            ),
            ChatReply("", (ToolCall("a", "f", '{"query": "缓存"}'), ToolCall("b", "f", "{}"))),
        ),
    ],
)
def test_an_answer_that_is_streamed_is_put_together(server: ChatServer, reply: Reply, expected: ChatReply) -> None:
    server.script = [reply]
    assert Patience().endpoint(server).reply(HELLO, []) == expected


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(200, b'data: {"error": {"message": "loading sk-secret-0123456789"}}\n\n', STREAM), 'loading ***"'),
        (Reply(200, b"data: <html>\n\n", STREAM), "chat completions (data: <html>)"),
        (Reply(200, b'data: {"choices": [7]}\n\n', STREAM), "chat completions"),
        (Reply(200, b'data: {"choices": [', STREAM | {"Content-Length": "100"}), "cannot be reached"),
        (Reply(401, b'{"error": "bad key sk-secret-0123456789"}', JSON), "HTTP 401: it refused the key, check llm.api"),
        (Reply(403, b""), "HTTP 403: it refused the key"),
        (Reply(404, b'{"error": "no model sk-secret-0123456789"}', JSON), 'no model ***"}): check llm.base-url and'),
        (Reply(400, b"\xff\x00\n"), "HTTP 400"),
        (Reply(500, b"out of memory"), "HTTP 500: the server failed (out of memory), try again later"),
        (Reply(503, b"", {"Retry-After": "1"}), "HTTP 503: the server failed, try again later"),
        (Reply(302, b"", {"Location": "http://127.0.0.1:9/v1"}), "HTTP 302, a redirect: set llm.base-url"),
        (Reply(200, b"<html>login</html>", {"Content-Type": "text/html"}), "chat completions (<html>login</html>)"),
        (Reply(200, b""), "chat completions (nothing): check llm.base-url"),
        (Reply(200, b"\xff\xfe", JSON), "chat completions"),
        (Reply(200, b"[" * 100_000, JSON), "chat completions"),
        (Reply(200, b"[1]", JSON), "chat completions ([1])"),
        (Reply(200, b'{"error": {"message": "loading sk-secret-0123456789"}}', JSON), 'loading ***"'),
        (Reply(200, b'{"choices": []}', JSON), "chat completions"),
        (Reply(200, b'{"choices": [{"message": null}]}', JSON), "chat completions"),
        (Reply(200, b'{"choices": [{"message": {"content": 7}}]}', JSON), "chat completions"),
        (Reply(200, b'{"choices": [{"message": {"content": [7]}}]}', JSON), "chat completions"),
        (Reply(200, b'{"choices": [{"message": {"tool_calls": 7}}]}', JSON), "chat completions"),
        (says("", {"function": {}}), "chat completions"),
        (says("", "call"), "chat completions"),
        (Reply(200, b'{"choices": [', {"Content-Length": "100"}), "cannot be reached"),
        (Reply(-1, b""), "cannot be reached"),
    ],
)
def test_a_fault_of_the_server_is_one_sentence_with_its_address_and_without_the_key(
    server: ChatServer, reply: Reply, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = [reply]
    said = refusal(Patience().endpoint(server))
    assert sentence in said
    assert f"m at {server.base_url}" in said
    assert "\n" not in said
    assert len(said) < 500
    assert KEY not in said + caplog.text
    assert len(server.requests) == 1


def test_an_answer_never_brings_the_key_back(server: ChatServer) -> None:
    server.script = [says(f"Bearer {KEY}", calls({"query": KEY}, name=KEY))]
    endpoint = Patience().endpoint(server)
    assert KEY not in str(endpoint.reply(HELLO, []))
    assert KEY not in repr(ChatOptions("http://127.0.0.1", "m", KEY))


def test_a_placeholder_for_a_key_is_a_word_like_any_other(server: ChatServer) -> None:
    server.script = [says("ollama")]
    assert Patience().endpoint(server, api_key="ollama").reply(HELLO, []).text == "ollama"


def test_a_busy_server_is_waited_for_as_long_as_it_says(server: ChatServer) -> None:
    patience = Patience()
    dated = Reply(429, b"", {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})
    server.script = [Reply(429, b"", {"Retry-After": "0.5"}), Reply(429, b""), dated, says("好")]
    assert patience.endpoint(server).reply(HELLO, []).text == "好"
    assert patience.waits == [0.5, 2.0, 2.0]


def test_a_server_that_stays_busy_is_given_up_after_three_waits(server: ChatServer) -> None:
    patience = Patience()
    server.script = [Reply(429, b"quota", {"Retry-After": "7"})]
    assert "HTTP 429 again after 3 waits: too many requests or no quota left" in refusal(patience.endpoint(server))
    assert (patience.waits, len(server.requests)) == ([7.0] * 3, 4)


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon"])
def test_a_wait_that_is_none_is_two_seconds(server: ChatServer, seconds: str) -> None:
    patience = Patience()
    server.script = [Reply(429, b"", {"Retry-After": seconds}), says("好")]
    patience.endpoint(server).reply(HELLO, [])
    assert patience.waits == [2.0]


def test_a_wait_of_more_than_half_a_minute_is_left_to_the_user(server: ChatServer) -> None:
    patience = Patience()
    server.script = [Reply(429, b"", {"Retry-After": "3600"})]
    assert "asks to wait for 3600 seconds: try again then" in refusal(patience.endpoint(server))
    assert patience.waits == []


def test_a_server_that_does_not_answer_is_given_up(server: ChatServer) -> None:
    server.script = [Reply(0, b"")]
    assert "did not answer within 0.05 seconds" in refusal(Patience().endpoint(server, answer_seconds=0.05))


def test_a_server_that_is_not_there_is_named(server: ChatServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    said = refusal(Patience().endpoint(server, base_url=base_url))
    assert f"m at {base_url} cannot be reached" in said
    assert "refused" in said
    assert "llm.base-url" in said


@pytest.mark.parametrize(
    "base_url",
    [
        "127.0.0.1:11434/v1",
        "file:///etc/passwd",
        "http://",
        f"http://user:{KEY}@host/v1",
        f"https://host/v1?key={KEY}",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://host/v1\nX: y",
        "http://主机/v1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_not_repeated(base_url: str) -> None:
    with pytest.raises(UserError, match=r"llm\.base-url is not a plain http or https address") as error:
        ChatEndpoint(ChatOptions(base_url, "m"))
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (ChatOptions(" ", "m"), r"llm\.base-url is not set: set it to an OpenAI-compatible endpoint"),
        (ChatOptions("http://127.0.0.1/v1", " "), r"llm\.model is not set"),
        (ChatOptions("http://127.0.0.1/v1", "m", f"{KEY}\nX: 密"), r"llm\.api-key holds characters"),
    ],
)
def test_a_missing_or_wrong_setting_is_named(options: ChatOptions, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as error:
        ChatEndpoint(options)
    assert KEY not in str(error.value)


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(UserError, match=r"needs the extra llm: run pip install \"kbapp\[llm\]\""):
        ChatEndpoint(ChatOptions("http://127.0.0.1/v1", "m"))
