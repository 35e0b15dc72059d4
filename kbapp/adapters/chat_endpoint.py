"""A language model behind an OpenAI-compatible endpoint: Ollama, vLLM, or a hosted one, through the `openai` package.

Traps: the client retries by itself, follows redirects and takes a key from the environment when it is given none; it
hands through whatever a server sends as if it were an answer, so that the body is read here.
"""

from __future__ import annotations

import importlib.util
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never
from urllib.parse import urlsplit

from kbapp.adapters.chat_stream import joined_message
from kbapp.adapters.endpoint_address import is_plain_address
from kbapp.domain.chat import ChatMessage, ChatReply, SystemMessage, ToolCall, ToolMessage, UserMessage
from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import UserError
from kbapp.domain.query import clean_text
from kbapp.domain.tool_schema import ToolSchema

if TYPE_CHECKING:
    import openai

INSTALL = 'pip install "kbapp[llm]"'
ANSWER_SECONDS = 120.0  # a model on a CPU needs a while
MAX_STREAM_SECONDS = 600.0
MAX_WAITS = 3
LONGEST_WAIT_SECONDS = 30.0
DEFAULT_WAIT_SECONDS = 2.0
_PATH = "/chat/completions"
_NO_KEY = "none"  # the client insists on one; servers that need none ignore it
_SHORTEST_SECRET = 8  # "ollama" and the like are placeholders, and words of answers
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The settings under ``llm``."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    answer_seconds: float = ANSWER_SECONDS


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    retry_after: str | None = None


class ChatEndpoint:
    """A ``ChatModel``. Thread-safe: it keeps no connection."""

    def __init__(self, options: ChatOptions, wait: Callable[[float], None] = time.sleep) -> None:
        """Take the address; nothing is asked yet.

        Raises:
            UserError: the extra is missing, or a setting cannot be used.
        """
        if importlib.util.find_spec("openai") is None:
            raise UserError(f"the llm executor needs the extra llm: run {INSTALL}")
        _check(options)
        self._model = options.model.strip()
        self._seconds = options.answer_seconds
        self._url = options.base_url.strip().rstrip("/").removesuffix(_PATH)
        self._key = options.api_key.strip()
        self._wait = wait

    @property
    def name(self) -> str:
        """``model at address``."""
        return f"{self._model} at {self._url}"

    def reply(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema]) -> ChatReply:
        """What the model says next; a busy server is waited for, three times and 30 seconds each at most.

        Raises:
            UserError: the endpoint does not answer as it should.
        """
        body: dict[str, Any] = {"model": self._model, "messages": [_message(message) for message in messages]}
        if tools:
            body["tools"] = [tool.to_openai() for tool in tools]
        answer = self._ask(body)
        waits = 0
        while answer.status == 429 and waits < MAX_WAITS:
            self._wait(self._seconds_to_wait(answer))
            answer = self._ask(body)
            waits += 1
        if not 200 <= answer.status < 300:
            raise UserError(self._refusal(answer))
        return self._parsed(answer.body)

    def _ask(self, body: dict[str, Any]) -> _Answer:
        import openai  # a second, and an extra

        try:
            with (
                self._client() as client,
                client.chat.completions.with_streaming_response.create(**body, stream=True) as answer,
            ):
                return _Answer(answer.status_code, self._read(answer))
        except openai.APIStatusError as error:
            response = error.response
            return _Answer(response.status_code, response.content, response.headers.get("Retry-After"))
        except openai.APITimeoutError as error:
            raise UserError(
                f"{self.name} did not answer within {self._seconds:g} seconds: is the server busy?"
            ) from error
        except UserError:
            raise
        except Exception as error:
            reason = self._plain(str(error.__cause__ or error))
            raise UserError(
                f"{self.name} cannot be reached ({reason}): is the server running? It is the one of llm.base-url"
            ) from error

    def _read(self, answer: openai.APIResponse[Any]) -> bytes:
        """The whole answer; of a stream the message that it makes, whole as well."""
        if "text/event-stream" not in answer.headers.get("content-type", ""):
            return answer.read()
        lines = list(self._until(time.monotonic() + MAX_STREAM_SECONDS, answer.iter_lines()))
        try:
            message = joined_message(lines)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return "\n".join(lines).encode()  # what it says is told as any other answer that is none
        return json.dumps({"choices": [{"message": message}]}).encode()

    def _until(self, end: float, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            if time.monotonic() > end:
                raise UserError(f"{self.name} was still answering after {MAX_STREAM_SECONDS:g} seconds: given up")
            yield line

    def _client(self) -> openai.OpenAI:
        import openai

        # A server of this machine is not behind a proxy; a redirect would hand the key to another server.
        is_here = urlsplit(self._url).hostname in {"localhost", "127.0.0.1", "::1"}
        return openai.OpenAI(
            api_key=self._key or _NO_KEY,
            base_url=self._url,
            max_retries=0,
            timeout=self._seconds,
            http_client=openai.DefaultHttpxClient(follow_redirects=False, trust_env=not is_here),
        )

    def _seconds_to_wait(self, answer: _Answer) -> float:
        seconds = _seconds(answer.retry_after)
        if seconds > LONGEST_WAIT_SECONDS:
            raise UserError(
                f"{self.name} answered HTTP 429 and asks to wait for {seconds:.0f} seconds: try again then, or set"
                " llm.base-url to another server"
            )
        return seconds

    def _refusal(self, answer: _Answer) -> str:
        """One sentence for a status that is not a success."""
        status = f"{self.name} answered HTTP {answer.status}"
        if answer.status in {401, 403}:
            return f"{status}: it refused the key, check llm.api-key"
        if answer.status == 429:
            return f"{status} again after {MAX_WAITS} waits: too many requests or no quota left, try again later"
        if 300 <= answer.status < 400:
            return f"{status}, a redirect: set llm.base-url to the final address"
        said = self._plain(answer.body.decode("utf-8", "replace"))
        said = f" ({said})" if said else ""
        if answer.status >= 500:
            return f"{status}: the server failed{said}, try again later"
        return f"{status}{said}: check llm.base-url and llm.model"

    def _parsed(self, body: bytes) -> ChatReply:
        try:
            message = json.loads(body)["choices"][0]["message"]
            text = self._without_key(_text_of(message.get("content")))
            calls = [self._tool_call(call, number) for number, call in enumerate(message.get("tool_calls") or [])]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            said = self._plain(body[:10_000].decode("utf-8", "replace")) or "nothing"
            raise UserError(
                f"{self.name} does not answer in the form of OpenAI's chat completions ({said}): check llm.base-url"
            ) from error
        return ChatReply(text, tuple(calls))

    def _tool_call(self, call: Mapping[str, Any], number: int) -> ToolCall:
        function = call["function"]
        arguments = function.get("arguments") or ""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        name = self._without_key(str(function["name"]))
        return ToolCall(str(call.get("id") or f"call_{number}"), name, self._without_key(written))

    def _plain(self, text: str) -> str:
        """What a server said, short and on one line."""
        return clean_text(self._without_key(text))[:_SHOWN_CHARACTERS]

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if len(self._key) >= _SHORTEST_SECRET else text


def _check(options: ChatOptions) -> None:
    if not options.base_url.strip():
        raise UserError(
            "llm.base-url is not set: set it to an OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1"
        )
    if not is_plain_address(options.base_url.strip()):
        raise UserError(
            "llm.base-url is not a plain http or https address such as http://127.0.0.1:11434/v1"
            " (a key belongs in llm.api-key)"
        )
    if not options.model.strip():
        raise UserError("llm.model is not set: set it to the name of a model that the endpoint has")
    key = options.api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise UserError("llm.api-key holds characters that no key has: copy it again")


def _seconds(retry_after: str | None) -> float:
    try:
        seconds = float(retry_after or "")
    except ValueError:  # none, or a date
        return DEFAULT_WAIT_SECONDS
    return seconds if math.isfinite(seconds) and seconds >= 0 else DEFAULT_WAIT_SECONDS


def _message(message: ChatMessage) -> dict[str, JsonValue]:
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": _sendable(text)}
        case UserMessage(text):
            return {"role": "user", "content": _sendable(text)}
        case ToolMessage(call_id, text):
            return {"role": "tool", "tool_call_id": _sendable(call_id), "content": _sendable(text)}
        case ChatReply(text, calls):
            values: dict[str, JsonValue] = {"role": "assistant", "content": _sendable(text)}
            return values | ({"tool_calls": [_call(call) for call in calls]} if calls else {})
    assert_never(message)


def _call(call: ToolCall) -> dict[str, JsonValue]:
    function: dict[str, JsonValue] = {"name": _sendable(call.name), "arguments": _sendable(call.arguments)}
    return {"id": _sendable(call.id), "type": "function", "function": function}


def _sendable(text: str) -> str:
    """The text without lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _text_of(content: object) -> str:
    """The text of a message; some servers send it in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    raise TypeError("content is no text")
