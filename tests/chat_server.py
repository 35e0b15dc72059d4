"""A scripted OpenAI-compatible chat endpoint on loopback: each request gets the next reply, the last one for ever."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STREAM = {"Content-Type": "text/event-stream"}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server sends; ``status`` 0: it hangs until the test ends, -1: it hangs up."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def says(text: object, *calls: object) -> Reply:
    """An answer of the model: text, and calls made by ``calls`` or of any other form."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    body = {"id": "c", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message}]}
    return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def streams(*deltas: object) -> Reply:
    """An answer of the model in pieces."""
    pieces = [json.dumps({"choices": [{"index": 0, "delta": delta}]}, ensure_ascii=False) for delta in deltas]
    lines = [": keep alive", *(f"data: {piece}" for piece in pieces), "data: [DONE]"]
    return Reply(200, "\n\n".join([*lines, ""]).encode(), STREAM)


def calls(arguments: object, name: str = "lookup_knowledge", call_id: str = "call_1") -> dict[str, object]:
    """A call of a tool; arguments that are no text are written as JSON, as models do."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def asks(query: str, **others: str) -> Reply:
    """An answer of the model that looks one thing up."""
    return says(None, calls({"query": query} | others))


class ChatServer:
    """The script, and what was sent."""

    def __init__(self) -> None:
        self.script: list[Reply] = [says("完成")]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.ended = threading.Event()
        self.base_url = ""

    def next_reply(self) -> Reply:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def told(self, role: str) -> list[str]:
        """The texts of this role in the last request."""
        return [message["content"] for message in self.requests[-1]["messages"] if message["role"] == role]


class _QuietHTTPServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing when a client has hung up."""


@contextmanager
def serve_chat() -> Iterator[ChatServer]:
    """The server while the block runs."""
    chat = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            chat.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            chat.headers.append({name.lower(): value for name, value in self.headers.items()})
            chat.paths.append(self.path)
            reply = chat.next_reply()
            if reply.status == 0:
                chat.ended.wait()
            if reply.status <= 0:
                return
            self.send_response(reply.status)
            for name, value in ({"Content-Length": str(len(reply.body))} | reply.headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None: ...

    server = _QuietHTTPServer(("127.0.0.1", 0), Handler)
    chat.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield chat
    finally:
        chat.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
