"""``lookup_knowledge`` for a Python program and for a model behind an OpenAI-compatible endpoint (A2)."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass

from kbapp.domain import tool_schema
from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import UserError
from kbapp.domain.relevance import HintLanguage
from kbapp.service.knowledge_base import KnowledgeBase


@dataclass(frozen=True, slots=True)
class KnowledgeTool:
    """The tool in one conversation: ``schema`` for the model, ``answer`` for its calls; or call it yourself.

    Thread-safe; lives as long as its knowledge base is open.
    """

    kb: KnowledgeBase
    session_id: str
    language: HintLanguage

    @property
    def name(self) -> str:
        """As the model calls it."""
        return self._definition.name

    @property
    def schema(self) -> dict[str, JsonValue]:
        """The tool as the chat completions of OpenAI take it in ``tools``."""
        return self._definition.to_openai()

    def __call__(
        self, query: str, section_title: str | None = None, missing_dimension: str | None = None
    ) -> dict[str, JsonValue]:
        """Look one thing up; the result in its camelCase form.

        Raises:
            UserError: the query is empty or too long.
        """
        result = self.kb.lookup(
            query, session_id=self.session_id, section_title=section_title, missing_dimension=missing_dimension
        )
        return result.to_dict()

    def answer(self, arguments: str) -> str:
        """The content of the tool message for a model's call; what is wrong with the call is told to the model."""
        try:
            asked = tool_schema.parse_arguments(arguments)
            answer = self(asked.query, asked.section_title, asked.missing_dimension)
        except UserError as error:
            answer = {"error": str(error)}
        return json.dumps(answer, ensure_ascii=False)

    @property
    def _definition(self) -> tool_schema.ToolSchema:
        return tool_schema.lookup_tool(self.language)


def lookup_tool(
    kb: KnowledgeBase, *, session_id: str | None = None, language: HintLanguage | str = HintLanguage.ZH
) -> KnowledgeTool:
    """``lookup_knowledge`` over an open knowledge base for one conversation, by default one that begins now.

    ``language``: of the tool's description (``zh`` or ``en``).

    Raises:
        UserError: there is no description in this language.
    """
    if language not in set(HintLanguage):
        raise UserError(f"there is no description in {language!r}: choose {' or '.join(HintLanguage)}")
    return KnowledgeTool(kb, session_id or f"tool-{secrets.token_hex(6)}", HintLanguage(language))
