"""What people download opens in a spreadsheet, which must not run what a query or a document says."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.telemetry_export import BYTE_ORDER_MARK, csv_lines
from tests.values import make_invocation

ROOT = Path(__file__).resolve().parents[2]
STARTS = "=+-@\t\r\n＝＋－＠"
SEPARATORS = [",", ";", "\t", "|"]  # of the person's language, or chosen while opening


@given(
    start=st.sampled_from(STARTS),
    rest=st.text(),
    blanks=st.text(alphabet=" ", max_size=3),
)
def test_no_cell_begins_as_a_formula(start: str, rest: str, blanks: str) -> None:
    text = f"{blanks}{start}{rest}"
    details = {"given": [{"document": text}]}
    row = make_invocation("a", query=text, session_id=text, section_title=text, error=text, retrieval_details=details)
    lines = "".join(csv_lines([row])).removeprefix(BYTE_ORDER_MARK)
    for cells in csv.reader(lines.splitlines(keepends=True)):
        assert not [cell for cell in cells if cell.lstrip(" ").startswith(tuple(STARTS))]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_no_part_of_a_cell_becomes_one_where_another_separator_is_used(separator: str) -> None:
    query = separator.join(["harmless", "=cmd|' /C calc'!A0", "+1"])
    text = "".join(csv_lines([make_invocation("a", query=query)])).removeprefix(BYTE_ORDER_MARK)
    assert cut_by_a_spreadsheet(text, separator)
    assert not [cell for cell in cut_by_a_spreadsheet(text, separator) if cell.lstrip(" ").startswith(tuple("=+-@"))]


def cut_by_a_spreadsheet(text: str, separator: str) -> list[str]:
    """A separator between quotes cuts nothing, wherever the quotes stand."""
    cells, is_quoted = [""], False
    for character in text:
        is_quoted ^= character == '"'
        if character in (separator, "\n") and not is_quoted:
            cells.append("")
        elif character != '"':
            cells[-1] += character
    return cells


def test_the_tables_of_the_pages_have_no_download_of_their_own_that_knows_nothing_of_formulas() -> None:
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert config["client"]["disableDataExport"] is True
