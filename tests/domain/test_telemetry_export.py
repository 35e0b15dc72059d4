from __future__ import annotations

import csv
import io
import json

import pytest

from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry_export import BYTE_ORDER_MARK, COLUMNS, csv_lines, json_lines
from tests.values import make_invocation

DETAILS = {"l1_top_similarity": 0.5, "given": [{"document": "api/a.md"}, {"document": "api/b.md"}]}


def read(text: str) -> list[dict[str, str]]:
    assert text.startswith(BYTE_ORDER_MARK)
    return list(csv.DictReader(io.StringIO(text.removeprefix(BYTE_ORDER_MARK), newline="")))


def test_csv_has_a_line_per_row_with_what_was_graded_and_given() -> None:
    row = make_invocation(
        "a", query='逗号, "引号"\n换行', found=True, relevance_level=RelevanceLevel.PRECISE, retrieval_details=DETAILS
    )
    first, second = read("".join(csv_lines([row, make_invocation("b", outcome=Outcome.ERROR, error="空")])))
    assert tuple(first) == COLUMNS
    assert first["query"] == '逗号, "引号"\n换行'
    assert (first["relevance_level"], first["found"], first["l1_ms"]) == ("PRECISE", "1", "")
    assert (first["l1_top_similarity"], first["given"]) == ("0.5", "api/a.md; api/b.md")
    assert (second["outcome"], second["error"], second["given"]) == ("error", "空", "")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "=cmd|' /C calc'!A0"])
def test_a_spreadsheet_does_not_run_what_was_asked(text: str) -> None:
    (row,) = read("".join(csv_lines([make_invocation("a", query=text, session_id=text, error=text)])))
    assert [row[name] for name in ("query", "session_id", "error")] == [f"'{text}"] * 3


def test_numbers_and_harmless_texts_stay_as_they_are() -> None:
    (row,) = read(
        "".join(csv_lines([make_invocation("a", query="a=1", retrieval_details={"l1_top_similarity": -0.5})]))
    )
    assert (row["query"], row["l1_top_similarity"]) == ("a=1", "-0.5")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json_is_an_array_of_whole_rows(count: int) -> None:
    rows = [make_invocation(f"i{number}", query="支付", retrieval_details=DETAILS) for number in range(count)]
    text = "".join(json_lines(rows))
    assert json.loads(text) == [json.loads(json.dumps(row.to_dict())) for row in rows]
    assert len(text.strip().splitlines()) == (count + 2 if count else 1)
