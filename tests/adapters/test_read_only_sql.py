"""The SQL box: exactly one SELECT, within limits, on a connection that can do nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.read_only_sql import SqlLimits, run_select
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from tests.values import make_invocation

LEVELS = """SELECT relevance_level, COUNT(*) AS cnt
FROM tool_invocation
WHERE tool_name = 'lookup_knowledge'
GROUP BY relevance_level;"""
REASONS = """SELECT dedup_reason, COUNT(*) AS cnt
FROM tool_invocation
WHERE tool_name = 'lookup_knowledge'
GROUP BY dedup_reason;"""
SIMILARITIES = """SELECT
    JSON_EXTRACT(retrieval_details, '$.l1_top_similarity') AS similarity,
    COUNT(*) AS cnt
FROM tool_invocation
WHERE tool_name = 'lookup_knowledge'
  AND retrieval_details IS NOT NULL
GROUP BY similarity
ORDER BY similarity;"""
FOREVER = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    database = Database(tmp_path / "状态 #1?" / "kbapp.sqlite3")
    log = InvocationLog(database)
    for number, similarity in enumerate((0.8085, 0.8085, 0.5)):
        details = {"l1_top_similarity": similarity, "l1_scores": [0.383, 1.0]}
        log.record(
            make_invocation(f"i{number}", relevance_level=RelevanceLevel.HIGHLY_RELEVANT, retrieval_details=details)
        )
    withheld = make_invocation("i3", relevance_level=RelevanceLevel.DEDUPED, dedup_reason=DedupReason.DOC_RETRIEVED)
    log.record(withheld)
    yield database.file
    database.close()


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        (LEVELS, ("relevance_level", "cnt"), (("DEDUPED", 1), ("HIGHLY_RELEVANT", 3))),
        (REASONS, ("dedup_reason", "cnt"), ((None, 3), ("doc_retrieved", 1))),
        (SIMILARITIES, ("similarity", "cnt"), ((0.5, 1), (0.8085, 2))),
    ],
)
def test_t4_the_three_statements_of_000_run_unchanged(
    file: Path, sql: str, columns: tuple[str, ...], rows: tuple[tuple[object, ...], ...]
) -> None:
    result = run_select(file, sql)
    assert (result.columns, result.rows, result.truncated) == (columns, rows, False)


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from tool_invocation",
        "-- 注释; DROP\n/* PRAGMA */ SELECT count(*) FROM tool_invocation -- 完 ;",
        "WITH rows AS (SELECT * FROM tool_invocation) SELECT count(*) FROM rows;",
        "SELECT(SELECT count(*) FROM tool_invocation)",
        f"{FOREVER} SELECT n FROM t WHERE n = 4 LIMIT 1",
        "SELECT count(*) * 2 FROM tool_invocation AS i, json_each(retrieval_details, '$.l1_scores') WHERE i.id = 'i0'",
    ],
)
def test_one_select_in_any_form_is_run(file: Path, sql: str) -> None:
    assert run_select(file, sql).rows == ((4,),)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "  -- nothing\n",
        "/* unfinished",
        ";SELECT 1",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE feedback",
        "PRAGMA table_info(tool_invocation)",
        "SELECT * FROM pragma_table_info('tool_invocation')",
        "ATTACH '{other}' AS other",
        "DETACH main",
        "VACUUM INTO '{other}'",
        "INSERT INTO feedback VALUES ('a', 'i0', 'helpful', '', '')",
        "WITH a AS (SELECT 1) INSERT INTO feedback SELECT 'a', 'i0', 'helpful', '', ''",
        "WITH a AS (SELECT 1) DELETE FROM tool_invocation",
        "UPDATE tool_invocation SET query = ''",
        "DROP TABLE feedback",
        "CREATE TEMP TABLE t (a)",
        "BEGIN",
        "EXPLAIN SELECT 1",
        "VALUES (1)",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT no_such_column FROM tool_invocation",
        "SELECT FROM WHERE",
        "SELECT ?",
        "SELECT 'a\0b'",
        "SELECT '\ud800'",
        "SELECT zeroblob(900000000)",
        "查询",
    ],
)
def test_anything_else_is_refused_with_a_sentence_and_nothing_changes(file: Path, tmp_path: Path, sql: str) -> None:
    other = tmp_path / "other.sqlite3"
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(UserError, match="only one SELECT"):
        run_select(file, sql.format(other=other))
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*), max(query) FROM tool_invocation").fetchone() == (4, "支付网关超时")
        assert connection.execute("SELECT count(*) FROM feedback").fetchone() == (0,)
    assert not other.exists()
    assert before == sorted(path.name for path in tmp_path.rglob("*"))


def test_a_statement_that_takes_too_long_is_stopped(file: Path) -> None:
    with pytest.raises(UserError, match=r"longer than 0\.05 seconds"):
        run_select(file, f"{FOREVER} SELECT count(*) FROM t", SqlLimits(seconds=0.05))


def test_more_rows_or_characters_than_the_limit_are_cut_and_said_to_be(file: Path) -> None:
    default = run_select(file, f"{FOREVER} SELECT n FROM t")
    assert (len(default.rows), default.rows[-1], default.truncated) == (10_000, (10_000,), True)
    exact = run_select(file, "SELECT id FROM tool_invocation", SqlLimits(rows=4))
    assert (len(exact.rows), exact.truncated) == (4, False)
    large = run_select(file, f"{FOREVER} SELECT printf('%.100c', 'x') FROM t", SqlLimits(result_size=250))
    assert (len(large.rows), large.truncated) == (2, True)


def test_every_value_has_a_json_form_and_columns_of_the_same_name_stay_apart(file: Path) -> None:
    result = run_select(file, "SELECT x'00ff' AS a, 9e999 AS a, CAST(x'e694ff' AS TEXT) AS a, NULL AS b, '支付' AS c")
    assert result.to_dicts() == [{"a": "00ff", "a:1": "inf", "a:2": "\ufffd\ufffd", "b": None, "c": "支付"}]


def test_a_damaged_file_is_not_the_statements_fault(tmp_path: Path) -> None:
    file = tmp_path / "broken.sqlite3"
    file.write_bytes(b"not a database" * 1000)
    with pytest.raises(IndexUnavailable, match="kbapp doctor"):
        run_select(file, "SELECT 1 FROM tool_invocation")
    with pytest.raises(IndexUnavailable, match="kbapp doctor"):
        run_select(tmp_path / "missing.sqlite3", "SELECT 1")
