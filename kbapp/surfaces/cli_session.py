"""The commands about what a session was given."""

from __future__ import annotations

import click

from kbapp.domain.action_memory import SessionMemory
from kbapp.domain.documents import JsonValue
from kbapp.surfaces.cli_options import Options, json_option, pass_options, print_values
from kbapp.surfaces.plain_text import plain


@click.group()
def session() -> None:
    """Show or clear what a conversation was given."""


@session.command()
@click.argument("session_id", metavar="ID")
@json_option
@pass_options
def show(options: Options, session_id: str, as_json: bool) -> None:
    """Show the domains and documents that the conversation ID was given."""
    with options.open() as kb:
        memory = kb.session(session_id)
    print_values(as_json, _values(session_id, memory), lambda: _text(session_id, memory))


@session.command()
@click.argument("session_id", metavar="ID")
@json_option
@pass_options
def clear(options: Options, session_id: str, as_json: bool) -> None:
    """Forget what the conversation ID was given."""
    with options.open() as kb:
        kb.clear_session(session_id)
        memory = kb.session(session_id)
    print_values(as_json, _values(session_id, memory), lambda: _text(session_id, memory))


def _values(session_id: str, memory: SessionMemory) -> dict[str, JsonValue]:
    return {
        "session": session_id,
        "domains": {domain: list(documents) for domain, documents in memory.documents.items()},
    }


def _text(session_id: str, memory: SessionMemory) -> str:
    if not memory.documents:
        return plain(f"the session {session_id} was given nothing")
    return plain(
        "\n".join(f"{domain}: {', '.join(paths) or '(mentioned)'}" for domain, paths in memory.documents.items())
    )
