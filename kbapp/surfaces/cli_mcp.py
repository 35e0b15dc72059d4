"""The command that serves ``lookup_knowledge`` to agents over MCP."""

from __future__ import annotations

from contextlib import suppress

import click

from kbapp.domain.relevance import HintLanguage
from kbapp.surfaces.cli_options import Options, pass_options

DEFAULT_PORT = 8765


@click.command()
@click.option(
    "--transport", type=click.Choice(["stdio", "http"]), default="stdio", show_default=True, help="How clients connect."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port on 127.0.0.1 with --transport http; 0 takes a free one.",
)
@pass_options
def mcp(options: Options, transport: str, port: int) -> None:
    """Serve lookup_knowledge to agents over MCP."""
    settings = options.settings()
    with options.open() as kb, suppress(KeyboardInterrupt):
        from kbapp.surfaces.mcp_privacy import folders_of
        from kbapp.surfaces.mcp_server import ServerOptions  # 0.6 s, which the other commands do not pay
        from kbapp.surfaces.mcp_transport import one_session, serve_http, serve_stdio, session_of_request

        language, hidden = HintLanguage(settings.retrieval.hint_language), folders_of(settings)
        if transport == "http":
            serve_http(kb, ServerOptions(language, session_of_request, hidden), port)
        else:
            serve_stdio(kb, ServerOptions(language, one_session(), hidden))
