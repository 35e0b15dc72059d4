"""The telemetry page: what it counts, filters, lists, exports and answers is what the rows say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.surfaces.ui import telemetry_table
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.telemetry_filter import CallFilter, Period, linked_filter
from kbapp.surfaces.ui.telemetry_sql import PRESETS
from tests.surfaces.ui.conftest import open_page_of
from tests.values import make_invocation


def ask(kb: KnowledgeBase, query: str, session: str | None = "s1") -> Invocation:
    return kb.explained_lookup(LookupRequest(query, session))[1]


def record(kb: KnowledgeBase, *rows: Invocation) -> None:
    assert all(kb._parts.telemetry.log.record(row) for row in rows)


def open_page(app: AppTest, **parameters: str) -> AppTest:
    """As by a link in a browser: a page change drops the parameters of the page before."""
    app.run()
    app.query_params.clear()
    app.query_params.update(parameters)
    app.switch_page(Page.TELEMETRY).run()
    assert not app.exception
    return app


def figures(page: AppTest) -> list[tuple[str, str]]:
    return [(metric.value, metric.delta) for metric in page.metric[:6]]


def rows_of_picture(page: AppTest, number: int) -> list[dict[str, object]]:
    """The rows behind a picture."""
    rows = page.get("vega_lite_chart")[number].proto.data.data
    return convert_arrow_bytes_to_pandas_df(rows).to_dict("records")  # type: ignore[no-any-return]


def texts(page: AppTest) -> str:
    return "\n".join(str(part.value) for part in [*page.markdown, *page.caption, *page.info, *page.error])


def queries(page: AppTest) -> list[str]:
    (table,) = (frame.value for frame in page.dataframe if "answer" in frame.value)
    return list(table["query"])


def test_an_empty_page_leads_to_the_simulator(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    knowledge_base.clear_session("s1")
    page = open_page(app)
    assert "No call was recorded yet" in texts(page)
    assert not page.metric
    assert page.text_area(key="telemetry_sql")


def test_figures_and_pictures_tell_errors_degraded_repeats_and_misses_apart(
    app: AppTest, knowledge_base: KnowledgeBase
) -> None:
    first = ask(knowledge_base, "ERR_TIMEOUT")
    assert ask(knowledge_base, "ERR_TIMEOUT 怎么办").dedup_reason is DedupReason.DOC_RETRIEVED
    with pytest.raises(UserError):
        ask(knowledge_base, " ")
    record(
        knowledge_base,
        make_invocation("miss", query="年假", outcome=Outcome.NOT_FOUND, created_at=first.created_at),
        make_invocation("degraded", outcome=Outcome.DEGRADED, created_at=first.created_at),
    )
    page = open_page(app)
    assert figures(page) == [
        ("5", "sessions: 1"),
        ("40.0%", "calls: 2"),
        ("20.0%", "calls: 1"),
        ("20.0%", "calls: 1"),
        ("20.0%", "calls: 1"),
        ("20.0%", "calls: 1"),
    ]
    levels = {row["name"]: row["calls"] for row in rows_of_picture(page, 0)}
    assert levels == {
        "PRECISE": 1,
        "HIGHLY RELEVANT": 0,
        "REFERENCE": 0,
        "DEDUPED": 1,
        "NOT FOUND": 1,
        "DEGRADED, nothing found": 1,
        "REFUSED": 1,
    }
    reasons = {row["name"]: row["calls"] for row in rows_of_picture(page, 1)}
    assert reasons == {"document was given before": 1, "domain was retrieved before": 0}
    assert "2 of 3 documents: in none of these calls was their text given." in texts(page)


def test_the_fields_of_the_form_apply_together(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    now = datetime.now(UTC)
    base = make_invocation(
        "in", query="in", relevance_level=RelevanceLevel.REFERENCE, created_at=(now - timedelta(hours=2)).isoformat()
    )
    record(
        knowledge_base,
        base,
        replace(base, id="other-session", query="other", session_id="s2"),
        replace(base, id="old", query="old", created_at=(now - timedelta(days=2)).isoformat()),
        replace(base, id="level", query="level", relevance_level=RelevanceLevel.PRECISE),
        replace(base, id="outcome", query="outcome", outcome=Outcome.DEGRADED),
    )
    page = open_page(app)
    assert len(queries(page)) == 5
    page.selectbox(key="telemetry_period").set_value(Period.DAY)
    page.selectbox(key="telemetry_session").set_value("s1")
    page.multiselect(key="telemetry_levels").set_value([RelevanceLevel.REFERENCE])
    page.multiselect(key="telemetry_outcomes").set_value([Outcome.OK])
    page.button(key="telemetry_apply").click().run()
    assert queries(page) == ["in"]
    assert page.metric[0].value == "1"
    assert page.query_params["of"] == "s1"
    page.selectbox(key="telemetry_period").set_value(Period.HOUR)
    page.button(key="telemetry_apply").click().run()
    assert "No call passes these filters" in texts(page)
    page.button(key="telemetry_reset").click().run()
    assert len(queries(page)) == 5
    assert "of" not in page.query_params


@pytest.mark.parametrize("parameters", [{"session": "s2"}, {"period": "all", "of": "s2", "session": "tab"}])
def test_a_link_names_the_session(app: AppTest, knowledge_base: KnowledgeBase, parameters: dict[str, str]) -> None:
    ask(knowledge_base, "ERR_TIMEOUT", "s1")
    ask(knowledge_base, "Nginx", "s2")
    page = open_page(app, **parameters)
    assert queries(page) == ["Nginx"]
    assert page.selectbox(key="telemetry_session").value == "s2"


def test_what_a_link_says_is_understood_or_ignored() -> None:
    chosen = CallFilter(Period.WEEK, "s, 1", (RelevanceLevel.PRECISE,), (Outcome.ERROR, Outcome.DEGRADED))
    assert linked_filter(chosen.parameters()) == chosen
    assert linked_filter(CallFilter().parameters() | {"session": "tab"}) == CallFilter()
    assert linked_filter({"levels": "BEST", "period": "year", "of": " "}) == CallFilter()
    assert linked_filter({}) is None


def test_the_table_is_turned_page_by_page(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    count = telemetry_table.PAGE_SIZE + 2
    for number in range(count):
        created_at = f"2026-01-01T00:00:{number:02}+00:00"
        record(knowledge_base, make_invocation(f"i{number}", query=f"q{number}", created_at=created_at))
    page = open_page(app)
    assert f"Rows 1–25 of {count}, newest first" in texts(page)
    assert queries(page)[0] == f"q{count - 1}"
    page.button(key="telemetry_next").click().run()
    assert queries(page) == ["q1", "q0"]
    assert page.button(key="telemetry_next").disabled
    page.number_input(key=telemetry_table.PAGE_NUMBER).set_value(1).run()
    assert len(queries(page)) == telemetry_table.PAGE_SIZE
    page.button(key="telemetry_next").click().run()
    page.selectbox(key="telemetry_session").set_value("s1")
    page.button(key="telemetry_apply").click().run()
    assert page.number_input(key=telemetry_table.PAGE_NUMBER).value == 1


def test_the_selected_call_is_shown_whole(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    call = ask(knowledge_base, "ERR_TIMEOUT")
    page = open_page(app)
    assert "Select a row to see all of it." in texts(page)
    page.session_state[telemetry_table.SELECTED] = call.id
    page.run()
    assert json.loads(page.json[0].value) == json.loads(json.dumps(call.to_dict()))
    assert "知识库中不存在比上述结果更精准的文档" in texts(page)


def test_texts_of_queries_are_not_markup(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    bad = "a*b_[x](javascript:1)<img src=x>:red[x] $x$"
    row = make_invocation("bad", query=bad, session_id=bad[:40], outcome=Outcome.NOT_FOUND, error=bad)
    record(knowledge_base, row)
    page = open_page(app)
    page.session_state[telemetry_table.SELECTED] = "bad"
    page.run()
    assert not page.exception
    shown = [str(part.value) for part in [*page.markdown, *page.caption, *page.header, *page.error]]
    assert not any("<img" in text.replace("\\<", "") or "](javascript" in text for text in shown)
    assert queries(page) == [bad]


def test_the_files_hold_the_calls_that_pass(knowledge_base: KnowledgeBase) -> None:
    ask(knowledge_base, "ERR_TIMEOUT", "s1")
    ask(knowledge_base, "=Nginx", "s2")
    listing = telemetry_table.Listing(CallFilter(session="s2"), 1, datetime.now(UTC))
    as_csv = telemetry_table._file(knowledge_base, listing, telemetry_table.csv_lines)().decode("utf-8-sig")
    assert as_csv.count("\r\n") == 2
    assert ""","'=Nginx",""" in as_csv
    as_json = json.loads(telemetry_table._file(knowledge_base, listing, telemetry_table.json_lines)())
    assert [row["query"] for row in as_json] == ["=Nginx"]


def result(page: AppTest) -> dict[str, list[object]]:
    return page.dataframe[-1].value.to_dict("list")  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", PRESETS)
def test_t4_the_statements_of_the_design_run_from_their_buttons(
    app: AppTest, knowledge_base: KnowledgeBase, name: str
) -> None:
    ask(knowledge_base, "ERR_TIMEOUT")
    page = open_page(app)
    page.button(key=f"telemetry_sql_{name}").click().run()
    assert page.text_area(key="telemetry_sql").value == PRESETS[name]
    columns = result(page)
    assert columns["cnt"] == [1]
    assert {"levels": "relevance_level", "reasons": "dedup_reason", "similarities": "similarity"}[name] in columns


def test_a_statement_of_ones_own_and_one_that_is_refused(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(knowledge_base, "ERR_TIMEOUT")
    page = open_page(app)
    page.text_area(key="telemetry_sql").set_value("SELECT 7 AS n, 8 AS n")
    page.button(key="telemetry_sql_run").click().run()
    assert result(page) == {"n": [7], "n:1": [8]}
    page.text_area(key="telemetry_sql").set_value("DELETE FROM tool_invocation")
    page.button(key="telemetry_sql_run").click().run()
    assert "only one SELECT is allowed" in page.error[0].value
    assert len(knowledge_base.telemetry()) == 1


def test_a_database_that_cannot_be_used_is_a_sentence(
    app: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Callable[[], None]:
        raise IndexUnavailable("the database cannot be used: name another --state-dir")

    monkeypatch.setattr(knowledge_base._parts.statistics, "summary", fail)
    page = open_page_of(app, Page.TELEMETRY)
    assert not page.exception
    assert [error.value.replace("\\", "") for error in page.error] == [
        "the database cannot be used: name another --state-dir"
    ]
