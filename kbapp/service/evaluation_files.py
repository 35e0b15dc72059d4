"""Files of an evaluation as JSON lines: labels to begin with, and what became of each query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kbapp.domain.documents import JsonValue
from kbapp.domain.labelled_queries import Kind
from kbapp.service.evaluation_report import level_name
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.what_if import Answered, Judged


def label_template(kb: KnowledgeBase) -> str:
    """A labelled query per document, its first keyword or its title, and one that nothing answers: to be edited."""
    keywords = {entry.path: entry.keywords[0] for entry in kb.entries() if entry.keywords}
    lines = [
        _line({"id": f"q-{number:03}", "query": keywords.get(path, title), "kind": Kind.KEYWORD, "relevant": [path]})
        for number, (path, title) in enumerate(((each.path, each.title) for each in kb.documents()), start=1)
    ]
    off_topic: dict[str, JsonValue] = {"id": "off-001", "query": "how to bake bread", "kind": Kind.OFFTOPIC}
    return "".join([*lines, _line({**off_topic, "relevant": []})])


def outcome_lines(judged: Sequence[Judged]) -> Iterator[str]:
    """Every query with the document that was given first; ``right``: of an off-topic one, that nothing was."""
    for each in judged:
        label = each.outcome.label
        is_right = each.answered is Answered.RIGHT or (each.answered is Answered.OFF_TOPIC and each.level is None)
        yield _line(
            {
                "id": label.id,
                "query": label.query,
                "kind": label.kind.value,
                "level": level_name(each.level),
                "given": each.document,
                "expected": list(label.relevant),
                "right": is_right,
                "similarity": each.similarity,
                "note": label.note,
            }
        )


def _line(values: Mapping[str, JsonValue]) -> str:
    return f"{json.dumps(values, ensure_ascii=False)}\n"
