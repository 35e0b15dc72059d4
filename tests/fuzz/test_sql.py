"""Any statement gives rows or a sentence, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.read_only_sql import SqlLimits, run_select
from kbapp.domain.telemetry import SqlResult
from tests.fuzz.inputs import fuzz, outcome, texts
from tests.knowledge import tree
from tests.values import make_invocation

LIMITS = SqlLimits(rows=5, seconds=0.2)
TOKENS = """SELECT WITH RECURSIVE x AS ( ) , ; * FROM tool_invocation call_block chunk_fts sqlite_master WHERE
    id = 1 '1' LIMIT 3 ORDER BY GROUP HAVING count(*) UNION ALL VALUES (1) NULL x'00' 1e999 -- /* */ ? :a PRAGMA ATTACH
    DROP DELETE INSERT INTO UPDATE SET CREATE TABLE VACUUM load_extension('x') randomblob(10) zeroblob(9999999)
    printf('%*d',999999,1) json('[') json_each(retrieval_details) pragma_table_info('x') readfile('/etc/hosts')
    writefile('x','y') char(0) MATCH GLOB REGEXP LIKE ESCAPE BETWEEN CASE WHEN THEN ELSE END CAST EXISTS IN IS NOT AND
    OR OVER EXPLAIN""".split()
statements = st.lists(st.sampled_from(TOKENS) | texts.filter(lambda text: len(text) < 20), max_size=12).map(" ".join)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    database = Database(tmp_path_factory.mktemp("sql") / "kbapp.sqlite3")
    log = InvocationLog(database)
    for number in range(3):
        log.record(make_invocation(f"i{number}"))
    database.close()
    run_select(database.file, "SELECT 1")  # makes the files beside it that readers share
    return database.file


@given(statements | statements.map(lambda text: f"SELECT {text}"))
@example("SELECT 1; DROP TABLE feedback")
@example("SELECT '\ud800'")
@example("WITH x AS (SELECT 1) DELETE FROM feedback")
@fuzz(150)
def test_t4_any_statement_gives_rows_or_a_sentence_and_changes_nothing(file: Path, sql: str) -> None:
    before = tree(file.parent)
    found = outcome(lambda: run_select(file, sql, LIMITS))
    if isinstance(found, SqlResult):
        assert len(found.rows) <= LIMITS.rows
        assert all(len(row) == len(found.columns) for row in found.rows)
        found.to_dicts()
    assert tree(file.parent) == before
