"""A conversation with a language model that may call tools, as values; whoever speaks the protocol is an adapter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kbapp.domain.tool_schema import ToolSchema


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The rules of the conversation."""

    text: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user says."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model wants called; ``arguments`` is JSON, or what the model took for it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What the model says: text, calls of tools, or both."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """What a tool answered to the call ``call_id``."""

    call_id: str
    text: str


ChatMessage = SystemMessage | UserMessage | ChatReply | ToolMessage


class ChatModel(Protocol):
    """A language model behind some protocol."""

    @property
    def name(self) -> str:
        """The model and where it is, for people."""

    def reply(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSchema]) -> ChatReply:
        """What the model says next; without tools it can only answer.

        Raises:
            UserError: the model does not answer as it should; the sentence names the endpoint and the way out.
        """
