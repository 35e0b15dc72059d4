"""The story for stakeholders, in a real browser: what a task costs either way, and the telemetry that proves it."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from kbapp.surfaces.ui.context import Page as AppPage
from tests.browser.conftest import OpenTab, screenshot, session_of
from tests.browser.running_app import RunningApp
from tests.browser.test_journeys import PATHS, ask, expect_page, go_to
from tests.waiting import wait_until

pytestmark = pytest.mark.browser

TASK = {
    "id": "timeouts",
    "goal": "支付超时怎么办",
    "steps": ["ERR_TIMEOUT", "ERR_TIMEOUT 是什么", "ERR_TIMEOUT 怎么办", "Nginx", "Nginx 配置"],
    "needed": ["api/payment.md", "infrastructure/gateway.md"],
}


def test_the_rows_of_a_repeat_are_on_the_telemetry_page_with_details_sql_and_csv(
    open_tab: OpenTab, app: RunningApp
) -> None:
    tab = open_tab(PATHS[AppPage.SIMULATOR])
    expect_page(tab, AppPage.SIMULATOR)
    ask(tab, "ERR_TIMEOUT", 1)
    ask(tab, "ERR_TIMEOUT", 2)
    session = session_of(tab)
    tab.goto(f"{app.url}/telemetry?session={session}&period=all")
    expect_page(tab, AppPage.TELEMETRY)
    expect(tab.locator(".st-key-telemetry_figures")).to_contain_text("2")
    expect(tab.locator(".st-key-telemetry_figures")).to_contain_text("50.0%")
    screenshot(tab, "telemetry-of-a-session")
    for name, expected in (("levels", "relevance_level"), ("reasons", "dedup_reason"), ("similarities", "similarity")):
        tab.locator(f".st-key-telemetry_sql_{name} button").click()
        expect(tab.locator("textarea")).to_have_value(re.compile(expected))
    tab.get_by_role("button", name="Export").click()
    with tab.expect_download() as download:
        tab.locator(".st-key-telemetry_export_csv button").click()
    text = download.value.path().read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["query"], row["relevance_level"]) for row in rows] == [
        ("ERR_TIMEOUT", "DEDUPED"),
        ("ERR_TIMEOUT", "PRECISE"),
    ]


def test_a_scripted_task_shows_its_savings_and_every_step(open_tab: OpenTab, app: RunningApp) -> None:
    tab = open_tab(PATHS[AppPage.SIMULATOR])
    expect_page(tab, AppPage.SIMULATOR)
    wait_until(lambda: app.is_indexed("重试三次") and app.is_indexed("反向代理"))
    tab.get_by_text("Scripted task").click()
    tab.locator(".st-key-simulator_tasks_file input[type=file]").set_input_files(
        {"name": "tasks.jsonl", "mimeType": "application/json", "buffer": json.dumps(TASK).encode("utf-8")}
    )
    expect(tab.get_by_text("5 steps · needed: api/payment.md")).to_be_visible()
    tab.locator(".st-key-simulator_run button").click()
    figures = tab.locator(".st-key-simulator_figures")
    expect(figures).to_contain_text("2 of 2")
    expect(tab.locator(".kb-runs")).to_contain_text("DEDUPED")
    screenshot(tab, "scripted-savings")
    tab.locator(".st-key-simulator_step_first button").click()
    for _ in TASK["steps"][1:]:
        tab.locator(".st-key-simulator_step_next button").click()
        expect_page(tab, AppPage.SIMULATOR)
    screenshot(tab, "scripted-steps")
    rows = app.select("SELECT session_id IS NULL, count(*) FROM tool_invocation GROUP BY 1 ORDER BY 1")
    assert rows[1] == (1, len(TASK["steps"]))  # without a memory
    assert int(str(rows[0][1])) < 2 * len(TASK["steps"])  # the constrained executor left some out
    go_to(tab, AppPage.TELEMETRY)
