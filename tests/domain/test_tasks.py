"""Task files: what is read, and how every broken line is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.errors import UserError
from kbapp.domain.tasks import Task, parse_tasks, with_known_documents

NAMES = st.text(st.characters(codec="utf-8"), min_size=1).map(str.strip).filter(bool)
TASKS = st.builds(Task, NAMES, NAMES, st.lists(NAMES, min_size=1).map(tuple), st.lists(NAMES).map(tuple))


def line(**changes: object) -> str:
    values: dict[str, object] = {"id": "t1", "goal": "连接池", "steps": ["HikariCP"], "needed": ["api/a.md"]}
    return json.dumps(values | changes, ensure_ascii=False)


def refusal(text: str) -> str:
    with pytest.raises(UserError) as error:
        parse_tasks(text)
    return str(error.value)


@given(st.lists(TASKS, min_size=1, unique_by=lambda task: task.id))
def test_tasks_written_as_json_lines_are_read_back(tasks: list[Task]) -> None:
    lines = (json.dumps({"id": t.id, "goal": t.goal, "steps": t.steps, "needed": t.needed}) for t in tasks)
    assert parse_tasks("\n".join(lines)) == tasks


def test_blank_lines_a_bom_and_windows_line_ends_do_not_matter() -> None:
    tasks = parse_tasks(f"\ufeff{line()}\r\n\n  \r\n{line(id='t2')}\r\n")
    assert [task.id for task in tasks] == ["t1", "t2"]
    assert tasks[0].steps == ("HikariCP",)


def test_further_keys_are_ignored_and_a_number_may_be_an_id() -> None:
    assert parse_tasks(line(id=7, kind="rephrasing"))[0].id == "7"


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("{", "line 2: not JSON (Expecting property name enclosed in double quotes at column 2)"),
        ("[" * 100_000, "line 2: not JSON that can be read"),
        ('{"id": ' + "9" * 5000 + "}", "line 2: not JSON that can be read"),
        ("[1]", "line 2: not a JSON object"),
        ('{"id": "x", "goal": "g"}', "line 2: steps and needed are missing"),
        (line(id=" "), "line 2: id is not a text with something in it"),
        (line(id=True), "line 2: id is not a text"),
        (line(id="x", goal=None), "line 2: goal is not a text"),
        (line(id="x", steps=[]), "line 2: steps is empty"),
        (line(id="x", steps="HikariCP"), "line 2: steps is not a list"),
        (line(id="x", steps=["a", ""]), "line 2: steps[2] is not a text"),
        (line(id="x", needed=[1]), "line 2: needed[1] is not a text"),
        (line(), "line 2: the id 't1' is also in line 1"),
    ],
)
def test_a_broken_line_is_named_with_its_reason(broken: str, sentence: str) -> None:
    said = refusal(f"{line()}\n{broken}\n")
    assert sentence in said
    assert "line 1:" not in said
    assert len(said) < 400


def test_every_broken_line_is_named_up_to_ten() -> None:
    said = refusal("\n".join(["?"] * 13))
    assert [f"line {number}:" in said for number in (1, 10, 11)] == [True, True, False]
    assert said.endswith("and also lines 11, 12, 13")


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_a_task_says_what_to_write(text: str) -> None:
    assert "write one JSON object per line with id, goal, steps and needed" in refusal(text)


def test_needed_documents_become_paths_relative_to_the_knowledge_base_each_once() -> None:
    task = Task("t", "g", ("q",), ("kb/api/a.md", "api/a.md", "./api/a.md", "kb/b.md", "cafe\u0301.md"))
    known = with_known_documents([task], ["api/a.md", "kb/b.md", "caf\u00e9.md"], "kb")
    assert known[0].needed == ("api/a.md", "kb/b.md", "caf\u00e9.md")


def test_a_needed_document_that_is_not_there_is_named_with_its_task() -> None:
    tasks = [Task("t1", "g", ("q",), ("a.md",)), Task("t2", "g", ("q",), ("kb/none.md", "x" * 500))]
    with pytest.raises(
        UserError, match=r"does not hold: 'kb/none\.md' \(task 't2'\); 'xxx.*…' \(task 't2'\);"
    ) as error:
        with_known_documents(tasks, ["a.md"], "kb")
    assert "a.md' (task 't1')" not in str(error.value)
    assert len(str(error.value)) < 400
