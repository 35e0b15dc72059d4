"""An executor that is a language model: the executor prompt, the goal, ``lookup_knowledge`` and a bound (A3)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from kbapp.domain.chat import ChatMessage, ChatModel, ChatReply, SystemMessage, ToolCall, ToolMessage, UserMessage
from kbapp.domain.errors import UserError
from kbapp.domain.query import clean_text
from kbapp.domain.relevance import HintLanguage
from kbapp.domain.tasks import Task
from kbapp.domain.tool_schema import lookup_tool, parse_arguments
from kbapp.domain.transcript import Entry, ExecutorCall, ExecutorKind, SkippedStep, Transcript
from kbapp.prompts import executor_prompt
from kbapp.service.executor import LookupTool, OnEntry, collected

MAX_CALLS = 30  # of the tool in one task, refused ones included; each round makes one at least

_ANSWER_NOW: Mapping[HintLanguage, str] = {
    HintLanguage.ZH: "请停止检索，现在就依据已得到的内容作答；缺少的部分写“未查到”。",
    HintLanguage.EN: "Stop looking things up and answer now with what you have; say what was not found.",
}
_NO_CALLS_LEFT: Mapping[HintLanguage, str] = {
    HintLanguage.ZH: "本任务的检索次数已用完，这次调用没有执行",
    HintLanguage.EN: "the lookups of this task are used up, this call was not made",
}


class LlmExecutor:
    """Gives the model the goal and lets it look up; the model never sees the plan or what is needed."""

    def __init__(self, tool: LookupTool, model: ChatModel, language: HintLanguage) -> None:
        self._tool = tool
        self._model = model
        self._language = language
        self._schema = lookup_tool(language)

    def run(self, task: Task, session_id: str, on_entry: OnEntry | None = None) -> Transcript:
        """Let the model work until it answers; after 30 calls it is asked for its answer without the tool.

        Raises:
            UserError: the model's endpoint fails, or the model gives no answer.
        """
        messages: list[ChatMessage] = [SystemMessage(executor_prompt(self._language)), UserMessage(task.goal)]
        entries = collected(self._entries(messages, session_id), on_entry)
        return Transcript(task.id, ExecutorKind.LLM, entries, self._answer(messages))

    def _entries(self, messages: list[ChatMessage], session_id: str) -> Iterator[Entry]:
        """Carry the conversation on until the model calls nothing more, or may not."""
        calls_left = MAX_CALLS
        while calls_left:
            reply = self._model.reply(messages, [self._schema])
            messages.append(reply)
            if not reply.tool_calls:
                return
            for call in reply.tool_calls:
                if not calls_left:
                    messages.append(ToolMessage(call.id, _error(_NO_CALLS_LEFT[self._language])))
                    continue
                calls_left -= 1
                entry = self._call(call, session_id)
                messages.append(ToolMessage(call.id, _told(entry)))
                yield entry

    def _answer(self, messages: list[ChatMessage]) -> str:
        last = messages[-1]
        if isinstance(last, ChatReply):
            if last.text.strip():
                return last.text.strip()
            messages.pop()  # some servers refuse an empty message
        reply = self._model.reply([*messages, UserMessage(_ANSWER_NOW[self._language])], [])
        if not reply.text.strip():
            raise UserError(f"{self._model.name} gives an empty answer: set llm.model to another model")
        return reply.text.strip()

    def _call(self, call: ToolCall, session_id: str) -> Entry:
        """What a call gave; one that cannot be made is told to the model, so that it can do better."""
        if call.name != self._schema.name:
            return SkippedStep(None, clean_text(call.name), f"refused: the only tool is {self._schema.name}")
        try:
            asked = parse_arguments(call.arguments)
            result = self._tool.lookup(
                asked.query,
                session_id=session_id,
                section_title=asked.section_title,
                missing_dimension=asked.missing_dimension,
            )
        except UserError as error:
            return SkippedStep(None, clean_text(call.arguments), f"refused: {error}")
        return ExecutorCall(None, asked.query, asked.missing_dimension, asked.section_title, result)


def _told(entry: Entry) -> str:
    if isinstance(entry, SkippedStep):
        return _error(entry.reason)
    return json.dumps(entry.result.to_dict(), ensure_ascii=False)


def _error(sentence: str) -> str:
    return json.dumps({"error": sentence}, ensure_ascii=False)
