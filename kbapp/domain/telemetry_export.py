"""Telemetry rows as the lines of a CSV or JSON file, one by one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields

from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import Invocation

COLUMNS = (
    "id",
    "created_at",
    "session_id",
    "query",
    "section_title",
    "missing_dimension",
    "outcome",
    "relevance_level",
    "dedup_reason",
    "found",
    "l0_match_count",
    "l1_called",
    "l1_top_similarity",
    "given",
    "duration_ms",
    "l0_ms",
    "embed_ms",
    "l1_ms",
    "error",
)
BYTE_ORDER_MARK = "\ufeff"  # by which spreadsheets know UTF-8
_FIELDS = tuple(field.name for field in fields(Invocation))  # `to_dict` would copy the details of every row
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_lines(rows: Iterable[Invocation]) -> Iterator[str]:
    """A header and a line per row, without the details; for a spreadsheet, which runs no text as a formula."""
    yield BYTE_ORDER_MARK + _csv_line(COLUMNS)
    for row in rows:
        yield _csv_line([_cell(value) for value in _values(row)])


def json_lines(rows: Iterable[Invocation]) -> Iterator[str]:
    """An array of whole rows, one on each line."""
    separator = "[\n"
    for row in rows:
        yield separator + json.dumps({name: getattr(row, name) for name in _FIELDS}, ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def defused(text: str) -> str:
    """The text such that a spreadsheet shows it and does not run it (OWASP, CSV injection)."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def _values(row: Invocation) -> Iterator[JsonValue]:
    details = row.retrieval_details
    computed = {"l1_top_similarity": details.get("l1_top_similarity"), "given": "; ".join(_given(details.get("given")))}
    return (computed[name] if name in computed else getattr(row, name) for name in COLUMNS)


def _given(given: JsonValue) -> Iterator[str]:
    for each in given if isinstance(given, list) else []:
        if isinstance(each, dict):
            yield str(each.get("document"))


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return defused(value) if isinstance(value, str) else str(value)


def _csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    # All in quotes: where a spreadsheet cuts at semicolons, a formula could begin behind one.
    csv.writer(line, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerow(cells)
    return line.getvalue()
