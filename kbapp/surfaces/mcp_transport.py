"""Serves MCP over standard input and output, or over streamable HTTP on the loopback interface."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import threading
from types import FrameType
from typing import Any

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from kbapp.domain.errors import UserError
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.mcp_server import ServerOptions, SessionOf, build_server

HOST = "127.0.0.1"  # the SDK checks the headers Host and Origin of whatever listens here
PATH = "/mcp"


def one_session() -> SessionOf:
    """One session for all that this process is asked: standard input has one client."""
    session = f"mcp-{secrets.token_hex(6)}"
    return lambda _: session


def session_of_request(context: ServerRequestContext[Any, Any]) -> str | None:
    """The session that an HTTP request names: by the header of the older protocol, else in the endpoint's URL."""
    request = context.request
    if request is None:
        return None
    return request.headers.get("mcp-session-id") or request.query_params.get("session") or None


def serve_stdio(kb: KnowledgeBase, options: ServerOptions) -> None:
    """Serve until standard input ends or a signal comes; what else is printed meanwhile goes to stderr."""
    _leave_on_signals(kb)
    anyio.run(_serve_stdio, build_server(kb, options), kb)


async def _serve_stdio(server: Server[Any], kb: KnowledgeBase) -> None:
    async with stdio_server() as (incoming, outgoing):
        kb.follow()  # after the standard streams are taken: no library prints between the messages
        await server.run(incoming, outgoing, server.create_initialization_options())


def serve_http(kb: KnowledgeBase, options: ServerOptions, port: int) -> None:
    """Serve until a signal comes; port 0 is a free one, and stderr tells the address.

    Raises:
        UserError: the port is taken.
    """
    import uvicorn

    app = build_server(kb, options).streamable_http_app(streamable_http_path=PATH, json_response=True, host=HOST)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2)
    with _listening(port) as listener:
        signal.signal(signal.SIGTERM, _interrupt)  # uvicorn raises anew what it was ended by
        print(f"serving on http://{HOST}:{listener.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)  # noqa: T201
        kb.follow()
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    # The protocol is named for asyncio, which else leaves TCP_NODELAY off: 40 ms more per answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it would share the port with whoever has it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise UserError(f"port {port} on {HOST} cannot be used ({error.strerror}): name another one with --port") from (
            error
        )
    return listener


def _leave_on_signals(kb: KnowledgeBase) -> None:
    """End on Ctrl-C and SIGTERM, although a thread of the SDK waits for a line that may never come."""

    def leave() -> None:
        kb.close()
        os._exit(0)

    def on_signal(_: int, __: FrameType | None) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # the next one does not wait
        threading.Thread(target=leave, name="kbapp-leave").start()  # the main thread may hold what closing needs

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
