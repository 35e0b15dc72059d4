"""The one definition of the tool ``lookup_knowledge`` for whoever calls it: its texts, its schema, its arguments (A1).

The description says what the tool does and what its answers mean. It names nothing that a knowledge base holds (Q10)
and asks for no further search (M7).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import UserError
from kbapp.domain.invocation import TOOL_NAME
from kbapp.domain.query import clean_text
from kbapp.domain.relevance import HintLanguage

QUERY = "query"
SECTION_TITLE = "section_title"
MISSING_DIMENSION = "missing_dimension"


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """A text that a tool takes."""

    name: str
    description: str
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: tuple[ToolParameter, ...]

    def to_json_schema(self) -> dict[str, JsonValue]:
        """The parameters as a JSON schema."""
        return {
            "type": "object",
            "properties": {
                parameter.name: {"type": "string", "description": parameter.description}
                for parameter in self.parameters
            },
            "required": [parameter.name for parameter in self.parameters if parameter.is_required],
            "additionalProperties": False,
        }

    def to_openai(self) -> dict[str, JsonValue]:
        """The tool in the form of OpenAI's chat completions (A2)."""
        function: dict[str, JsonValue] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.to_json_schema(),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class LookupArguments:
    """What a call of ``lookup_knowledge`` asks, cleaned; None: not asked for."""

    query: str
    section_title: str | None = None
    missing_dimension: str | None = None


def lookup_tool(language: HintLanguage) -> ToolSchema:
    """``lookup_knowledge``, described in the executor's language."""
    texts = _TEXTS[language]
    parameters = (
        ToolParameter(QUERY, texts[QUERY], is_required=True),
        ToolParameter(SECTION_TITLE, texts[SECTION_TITLE]),
        ToolParameter(MISSING_DIMENSION, texts[MISSING_DIMENSION]),
    )
    return ToolSchema(TOOL_NAME, texts[TOOL_NAME], parameters)


def parse_arguments(text: str) -> LookupArguments:
    """The arguments as a model wrote them; names that are no parameter are left out.

    Raises:
        UserError: not a JSON object, without a query, or a value that is no text; tells the model what to send.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise UserError(f'the arguments are not a JSON object: send {{"{QUERY}": "…"}}')
    query = _text(values, QUERY)
    if query is None:
        raise UserError(f"{QUERY} is missing: say in a few words what you are looking for")
    return LookupArguments(query, _text(values, SECTION_TITLE), _text(values, MISSING_DIMENSION))


def _text(values: Mapping[str, object], name: str) -> str | None:
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise UserError(f"{name} is not a text: send a string")
    return clean_text(value) or None


_TEXTS: Mapping[HintLanguage, Mapping[str, str]] = {
    HintLanguage.ZH: {
        TOOL_NAME: (
            "在知识库中查一件事：优先按关键词精确匹配，需要时自动补充语义检索，一次调用即可，无需换词重查。"
            "结果的 relevanceLevel：PRECISE＝精确命中，没有更精准的文档；"
            "HIGHLY_RELEVANT＝高度相关，继续检索不太可能更好；"
            "REFERENCE＝相关参考，不够用时先说明缺少的维度；DEDUPED＝该内容已在本会话中给过，不再返回正文，请用先前的结果。"
            "found=false 表示知识库没有相关内容。retrievedDomainsThisSession 是本会话已检索的域。"
        ),
        QUERY: "要查的一件事：一个具体的问题或术语，用它本来的说法。",
        SECTION_TITLE: "可选。已得到的文档中某一节的标题（取自 availableSections），配合原来的 query，只返回该节全文。",
        MISSING_DIMENSION: "可选。已有结果还缺的那个具体方面；把原问题换个说法不算维度。",
    },
    HintLanguage.EN: {
        TOOL_NAME: (
            "Looks up one thing in the knowledge base: keywords are matched exactly first, and semantic search is added"
            " automatically where it is needed, so one call is enough, whatever the wording. relevanceLevel of the"
            " result: PRECISE = exact match, there is no more precise document; HIGHLY_RELEVANT = searching on is"
            " unlikely to find anything better; REFERENCE = related, if it is not enough first name the dimension that"
            " is missing; DEDUPED = this session was given that content, it is not returned again: use the earlier"
            " result. found=false: the knowledge base holds nothing relevant. retrievedDomainsThisSession: the domains"
            " that this session retrieved."
        ),
        QUERY: "The one thing to look up: a concrete question or term, in its own words.",
        SECTION_TITLE: (
            "Optional. The title of a section of a document that you were given (from availableSections), together with"
            " the earlier query: only that section is returned, in full."
        ),
        MISSING_DIMENSION: (
            "Optional. The one concrete aspect that the results so far lack; the question in other words is none."
        ),
    },
}
