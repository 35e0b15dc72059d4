"""Label files: what is read, how every broken line is named, and which queries cross languages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.errors import UserError
from kbapp.domain.labelled_queries import (
    Kind,
    LabelledQuery,
    crosses_languages,
    language_of,
    parse_labelled_queries,
)

DOCUMENTS = ("api/a.md", "b.md", "kb/c.md", "caf\u00e9.md")
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).map(str.strip).filter(bool)
LABELS = st.builds(
    LabelledQuery,
    id=TEXTS,
    query=TEXTS,
    kind=st.sampled_from([kind for kind in Kind if kind is not Kind.OFFTOPIC]),
    language=TEXTS,
    relevant=st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True).map(tuple),
    heading=st.none() | TEXTS,
    note=st.just("") | TEXTS,
    evidence=st.lists(TEXTS).map(tuple),
)


def line(**changes: object) -> str:
    values: dict[str, object] = {"id": "q1", "query": "连接池", "kind": "question", "relevant": ["api/a.md"]}
    return json.dumps(values | changes, ensure_ascii=False)


def parse(text: str) -> list[LabelledQuery]:
    return parse_labelled_queries(text, DOCUMENTS, "kb")


def refusal(text: str) -> str:
    with pytest.raises(UserError) as error:
        parse(text)
    return str(error.value)


@given(st.lists(LABELS, min_size=1, unique_by=lambda label: label.id))
def test_labels_written_as_json_lines_are_read_back(labels: list[LabelledQuery]) -> None:
    lines = (
        line(
            id=each.id,
            query=each.query,
            kind=each.kind,
            lang=each.language,
            relevant=each.relevant,
            heading=each.heading,
            note=each.note,
            evidence=each.evidence,
        )
        for each in labels
    )
    read = parse("\n".join(lines))
    assert [label.line for label in read] == list(range(1, len(labels) + 1))
    assert [(r.id, r.query, r.kind, r.language, r.relevant, r.heading, r.note, r.evidence) for r in read] == [
        (e.id, e.query, e.kind, e.language, e.relevant, e.heading, e.note, e.evidence) for e in labels
    ]


def test_blank_lines_a_bom_windows_line_ends_and_further_keys_do_not_matter() -> None:
    labels = parse(f"\ufeff{line()}\r\n\n  \r\n{line(id=7, author='x')}\r\n")
    assert [(label.id, label.line) for label in labels] == [("q1", 1), ("7", 4)]


def test_evidence_is_one_string_or_several() -> None:
    assert parse(line(evidence="20 个"))[0].evidence == ("20 个",)
    assert parse(line(evidence=["a", "b"]))[0].evidence == ("a", "b")
    assert parse(line(evidence=None))[0].evidence == ()


def test_documents_may_be_written_as_their_source_and_count_once() -> None:
    relevant = ["kb/api/a.md", "api/a.md", "./b.md", "kb/c.md", "cafe\u0301.md"]
    assert parse(line(relevant=relevant))[0].relevant == ("api/a.md", "b.md", "kb/c.md", "caf\u00e9.md")


@pytest.mark.parametrize(
    ("query", "language"), [("连接池多大", "zh"), ("pool size", "en"), ("Nacos 怎么配", "mixed"), ("42", "en")]
)
def test_without_lang_the_language_is_that_of_the_query(query: str, language: str) -> None:
    assert parse(line(query=query))[0].language == language


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("{", "line 2: not JSON (Expecting property name enclosed in double quotes at column 2)"),
        ("[" * 100_000, "line 2: not JSON that can be read"),
        ('{"id": ' + "9" * 5000 + "}", "line 2: not JSON that can be read"),
        ("[1]", "line 2: not a JSON object"),
        ('{"id": "x", "kind": "question"}', "line 2: query and relevant are missing"),
        (line(id=True), "line 2: id is not a text"),
        (line(id="x", query=" "), "line 2: query is not a text with something in it"),
        (line(id="x", kind="riddle"), "line 2: the kind 'riddle' is unknown: say one of keyword, question,"),
        (line(id="x", kind=["keyword"]), "line 2: the kind \"['keyword']\" is unknown"),
        (line(id="x", relevant="api/a.md"), "line 2: relevant is not a list"),
        (line(id="x", relevant=["api/a.md", 1]), "line 2: relevant[2] is not a text"),
        (line(id="x", relevant=[]), "line 2: relevant is empty: name the documents that answer it, or say offtopic"),
        (line(id="x", kind="offtopic"), "line 2: relevant is not empty, but nothing answers an offtopic query"),
        (line(id="x", kind="offtopic", relevant=[], evidence="a"), "line 2: evidence is not empty"),
        (line(id="x", relevant=["b.md", "x.md", "y.md"]), "line 2: the knowledge base does not hold 'x.md', 'y.md'"),
        (line(id="x", heading=3), "line 2: heading is not a text"),
        (line(id="x", evidence=["a", ""]), "line 2: evidence[2] is not a text"),
        (line(), "line 2: the id 'q1' is also in line 1"),
    ],
)
def test_a_broken_line_is_named_with_its_reason(broken: str, sentence: str) -> None:
    said = refusal(f"{line()}\n{broken}\n")
    assert said.startswith("nothing is computed: ")
    assert sentence in said
    assert "line 1:" not in said
    assert len(said) < 400


def test_every_broken_line_is_named_the_eleventh_and_later_without_a_reason() -> None:
    said = refusal("\n".join(["?"] * 13))
    assert [f"line {number}: not JSON" in said for number in (1, 10, 11)] == [True, True, False]
    assert said.endswith("; and also lines 11, 12, 13")


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_a_query_says_what_to_write(text: str) -> None:
    assert "write one JSON object per line with id, query, kind and relevant" in refusal(text)


def test_a_trap_is_an_off_topic_query_whose_note_says_so() -> None:
    trap = line(kind="offtopic", relevant=[], note="keyword trap: 虎牙")
    assert [parse(text)[0].is_trap for text in (trap, line(kind="offtopic", relevant=[]), line(note="trap"))] == [
        True,
        False,
        False,
    ]


def test_the_language_of_a_page_is_chinese_even_when_it_is_full_of_code() -> None:
    assert language_of("```\nexport PATH\nrun all tests\n```\n先设置环境变量") == "zh"
    assert language_of("The title is 支付, the rest of this page is written in English for everybody") == "en"
    assert language_of("") == "en"


@pytest.mark.parametrize(
    ("kind", "language", "languages", "crosses"),
    [
        (Kind.PARAPHRASE, "zh", ["en"], True),
        (Kind.QUESTION, "en", ["zh", "zh"], True),
        (Kind.QUESTION, "en", ["zh", "en"], False),
        (Kind.QUESTION, "mixed", ["zh"], False),
        (Kind.KEYWORD, "en", ["zh"], False),
        (Kind.OFFTOPIC, "en", [], False),
    ],
)
def test_a_query_crosses_languages_when_all_that_answers_it_is_in_the_other_one(
    kind: Kind, language: str, languages: list[str], crosses: bool
) -> None:
    assert crosses_languages(LabelledQuery("q", "q", kind, language), languages) is crosses
