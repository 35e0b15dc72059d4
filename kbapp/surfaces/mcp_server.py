"""The MCP server: one tool, the documents that a session was given as resources, the executor prompt (A2, Q10).

Built on the SDK's low-level ``Server``: ``MCPServer`` would make a second schema from a function's signature, and puts
a prefix before the sentence of an error. A handler that raises anything but ``MCPError`` shows its text to clients of
the older protocol, so none does.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import KbError, UserError
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.relevance import HintLanguage
from kbapp.domain.tool_schema import lookup_tool, parse_arguments
from kbapp.prompts import LANGUAGES, executor_prompt
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.mcp_documents import SessionDocuments, document_uri, uri_template
from kbapp.surfaces.mcp_privacy import HiddenFolders
from kbapp.surfaces.mcp_schema import result_schema
from kbapp.surfaces.mcp_text import result_text

logger = logging.getLogger("kbapp.mcp")

PROMPT_NAME = "executor"
DEFECT = "the server failed at this: its log says more"
NOT_FOUND = "this session was given no such document: what can be read are the sources that lookup_knowledge gave in it"

Context = ServerRequestContext[Any, Any]
SessionOf = Callable[[Context], str | None]
Params = TypeVar("Params")
Result = TypeVar("Result")
Handler = Callable[[Context, Params], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The language of what the executor reads, whose call a request is, and what no sentence may name."""

    language: HintLanguage
    session_of: SessionOf
    hidden: HiddenFolders


def build_server(kb: KnowledgeBase, options: ServerOptions) -> Server[Any]:
    """The server over an open knowledge base, for any transport; it keeps nothing itself."""
    handlers = _Handlers(kb, options)
    return Server(
        "kbapp",
        version=version("kbapp"),
        get_tool_input_schema=handlers.input_schema,
        on_list_tools=_guarded(handlers.list_tools),
        on_call_tool=_guarded(handlers.call_tool),
        on_list_resources=_guarded(handlers.list_resources),
        on_list_resource_templates=_guarded(handlers.list_templates),
        on_read_resource=_guarded(handlers.read_resource),
        on_list_prompts=_guarded(handlers.list_prompts),
        on_get_prompt=_guarded(handlers.get_prompt),
    )


def _guarded(handler: Handler[Params, Result]) -> Handler[Params, Result]:
    """The handler, of whose defects a client learns nothing but that there was one."""

    async def guarded(context: Context, params: Params) -> Result:
        try:
            return await handler(context, params)
        except MCPError:
            raise
        except Exception as error:
            logger.exception("%s failed", context.method)
            raise MCPError(INTERNAL_ERROR, DEFECT) from error

    return guarded


class _Handlers:
    """What the server answers; blocking work is done in threads."""

    def __init__(self, kb: KnowledgeBase, options: ServerOptions) -> None:
        self._kb = kb
        self._options = options
        self._schema = lookup_tool(options.language)
        self._documents = SessionDocuments(kb)

    def input_schema(self, tool: str) -> dict[str, JsonValue] | None:
        """For the SDK, which would else list the tools at each HTTP call."""
        return self._schema.to_json_schema() if tool == self._schema.name else None

    async def list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        tool = Tool(
            name=self._schema.name,
            description=self._schema.description,
            input_schema=self._schema.to_json_schema(),
            output_schema=result_schema(),
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        return ListToolsResult(tools=[tool])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name != self._schema.name:
            return _refusal(f"the only tool is {self._schema.name}")
        session = self._options.session_of(context)
        try:
            result = await anyio.to_thread.run_sync(partial(self._looked_up, params.arguments or {}, session))
        except KbError as error:
            return _refusal(self._options.hidden.hide(str(error)))
        except Exception:
            logger.exception("a lookup failed")
            return _refusal(DEFECT)
        text = TextContent(type="text", text=result_text(result, self._options.language))
        return CallToolResult(content=[text], structured_content=result.to_dict())

    def _looked_up(self, arguments: dict[str, Any], session: str | None) -> LookupResult:
        try:
            asked = parse_arguments(json.dumps(arguments))
        except UserError:
            with suppress(UserError):
                self._kb.lookup("", session_id=session)  # refused as well: each call leaves a row (A2)
            raise
        result = self._kb.lookup(
            asked.query,
            session_id=session,
            section_title=asked.section_title,
            missing_dimension=asked.missing_dimension,
        )
        hidden = self._options.hidden.hide(result.degraded) if result.degraded else None
        return replace(result, degraded=hidden)

    async def list_resources(self, context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        session = self._options.session_of(context)
        paths = await anyio.to_thread.run_sync(self._documents.paths, session)
        resources = [Resource(uri=document_uri(path), name=path, mime_type="text/markdown") for path in paths]
        return ListResourcesResult(resources=resources)

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            uri_template=uri_template(),
            name="document",
            description="A document that lookup_knowledge gave in this session, by its source.",
            mime_type="text/markdown",
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        session = self._options.session_of(context)
        text = await anyio.to_thread.run_sync(self._documents.text, params.uri, session)
        if text is None:
            raise MCPError(INVALID_PARAMS, NOT_FOUND)
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=text, mime_type="text/markdown")])

    async def list_prompts(self, _: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        prompt = Prompt(
            name=PROMPT_NAME,
            description="The rules for whoever calls lookup_knowledge.",
            arguments=[PromptArgument(name="language", description=" / ".join(LANGUAGES), required=False)],
        )
        return ListPromptsResult(prompts=[prompt])

    async def get_prompt(self, _: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != PROMPT_NAME:
            raise MCPError(INVALID_PARAMS, f"the only prompt is {PROMPT_NAME}")
        try:
            text = executor_prompt((params.arguments or {}).get("language") or self._options.language.value)
        except UserError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))])


def _refusal(sentence: str) -> CallToolResult:
    """What the SDK makes of a ``ToolError``: all that a model sees of it is the sentence."""
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)
