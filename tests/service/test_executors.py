"""The offline executors over a tool that is a list: what they ask, what they leave out, what they tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.lookup_result import LookupResult, SupplementResult
from kbapp.domain.plan_rules import Rules
from kbapp.domain.ports import Vectors
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import Entry, ExecutorCall, ExecutorKind, SkippedStep
from kbapp.service.constrained_executor import ConstrainedExecutor
from kbapp.service.executor import UnconstrainedExecutor
from tests.embedding import TinyEmbedder

TASK = Task("t", "连接池怎么配", ("连接池", "连接池", "alpha beta", "连接池 泄漏检测"), ("api/a.md",))
STRICT = Rules(new_words=0, closeness_weight=0)


@dataclass
class FakeTool:
    """Gives the query back as the text of a REFERENCE; refuses ``alpha beta`` when told to."""

    refused: str = ""
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)

    def lookup(
        self,
        query: str,
        *,
        session_id: str | None = None,
        section_title: str | None = None,
        missing_dimension: str | None = None,
    ) -> LookupResult:
        self.asked.append((query, session_id, missing_dimension))
        if query == self.refused:
            raise UserError("the query is too long")
        chunk = SupplementResult(query, "kb/api/a.md", "A", "A")
        return LookupResult(True, None, chunk, RelevanceLevel.REFERENCE, None, ("api",), None, None, None, "i")


@dataclass
class FakeSentences:
    """The tiny embedder as a comparer of sentences, or none."""

    problem: str = ""

    def sentence_vectors(self, texts: Sequence[str]) -> Vectors:
        if self.problem:
            raise IndexUnavailable(self.problem)
        return TinyEmbedder().embed_queries(texts)


def test_the_unconstrained_executor_fires_every_step_in_the_session_it_is_given() -> None:
    tool = FakeTool()
    transcript = UnconstrainedExecutor(tool).run(TASK, "s")
    assert tool.asked == [(step, "s", None) for step in TASK.steps]
    assert [call.step for call in transcript.calls] == [1, 2, 3, 4]
    assert (transcript.task_id, transcript.executor, transcript.answer) == ("t", ExecutorKind.UNCONSTRAINED, None)


def test_the_constrained_executor_leaves_repeats_out_with_a_reason_and_names_what_is_missing() -> None:
    tool = FakeTool()
    transcript = ConstrainedExecutor(tool, FakeSentences(), STRICT).run(TASK, "s")
    assert tool.asked == [("连接池", "s", None), ("alpha beta", "s", None), ("连接池 泄漏检测", "s", "泄漏检测")]
    skipped = transcript.entries[1]
    assert isinstance(skipped, SkippedStep)
    assert (skipped.step, skipped.query) == (2, "连接池")
    assert "REFERENCE" in skipped.reason


def test_without_the_model_steps_are_compared_by_their_words() -> None:
    tool = FakeTool()
    ConstrainedExecutor(tool, FakeSentences("the endpoint is down"), STRICT).run(TASK, "s")
    assert [query for query, _, _ in tool.asked] == ["连接池", "alpha beta", "连接池 泄漏检测"]


def test_the_constrained_executor_does_the_same_every_time_and_keeps_nothing_between_tasks() -> None:
    executor = ConstrainedExecutor(FakeTool(), FakeSentences(), STRICT)
    assert executor.run(TASK, "s1") == executor.run(TASK, "s2")


def test_a_step_that_the_tool_refuses_is_a_skipped_one_and_the_others_go_on() -> None:
    for executor in (
        UnconstrainedExecutor(FakeTool("alpha beta")),
        ConstrainedExecutor(FakeTool("alpha beta"), FakeSentences(), STRICT),
    ):
        entries = executor.run(TASK, "s").entries
        assert entries[2] == SkippedStep(3, "alpha beta", "refused: the query is too long")
        assert isinstance(entries[3], ExecutorCall)


def test_each_entry_is_told_before_the_next_call_is_made() -> None:
    tool = FakeTool()
    told: list[tuple[Entry, int]] = []

    def tell(entry: Entry) -> None:
        told.append((entry, len(tool.asked)))

    entries = UnconstrainedExecutor(tool).run(TASK, "s", tell).entries
    entries += ConstrainedExecutor(tool, FakeSentences(), STRICT).run(TASK, "s", tell).entries
    assert entries == tuple(entry for entry, _ in told)
    assert [asked for _, asked in told] == [1, 2, 3, 4, 5, 5, 6, 7]


def test_a_transcript_as_json_tells_calls_from_skipped_steps() -> None:
    values = ConstrainedExecutor(FakeTool(), FakeSentences(), STRICT).run(TASK, "s").to_dict()
    entries = values["entries"]
    assert isinstance(entries, list)
    assert [entry["kind"] for entry in entries if isinstance(entry, dict)] == ["call", "skip", "call", "call"]
    assert isinstance(entries[0], dict)
    assert entries[0].keys() == {"kind", "step", "query", "missing_dimension", "section_title", "result"}
    assert values["executor"] == "constrained"


def test_one_step_alone_is_a_plan() -> None:
    transcript = ConstrainedExecutor(FakeTool(), FakeSentences()).run(Task("t", "g", ("x",), ()), "s")
    assert len(transcript.calls) == 1
