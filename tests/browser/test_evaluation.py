"""Evaluation in a real browser: a call that is marked wrong stands there; a threshold that moves changes levels."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, Page, expect

from kbapp.surfaces.ui.context import Page as AppPage
from tests.browser.conftest import OpenTab, screenshot
from tests.browser.running_app import RunningApp
from tests.browser.test_accessibility import grave_findings
from tests.browser.test_journeys import PATHS, ask, expect_page, go_to
from tests.waiting import wait_until

pytestmark = pytest.mark.browser

LABELS = [
    {"id": "k1", "query": "ERR_TIMEOUT", "kind": "keyword", "relevant": ["api/payment.md"]},
    {"id": "k2", "query": "Nginx", "kind": "keyword", "relevant": ["api/payment.md"]},  # a wrong label
    {"id": "q1", "query": "反向代理的缓冲区与超时", "kind": "question", "relevant": ["infrastructure/gateway.md"]},
    {"id": "q2", "query": "plain text escalation", "kind": "question", "relevant": ["general.md"]},
    {"id": "o1", "query": "zqxv blorp", "kind": "offtopic", "relevant": []},
]
FIRST_ROW = {"x": 15, "y": 52}  # of a table drawn on a canvas: the box before its first row


def upload_labels(tab: Page, text: str) -> None:
    tab.locator(".st-key-evaluation_file input[type=file]").set_input_files(
        {"name": "labels.jsonl", "mimeType": "application/json", "buffer": text.encode("utf-8")}
    )


def run_labels(tab: Page, app: RunningApp) -> None:
    wait_until(lambda: all(app.is_indexed(text) for text in ("重试三次", "反向代理", "escalation")))
    upload_labels(tab, "\n".join(json.dumps(label) for label in LABELS))
    tab.locator(".st-key-evaluation_start button").click()
    expect(tab.get_by_role("heading", name="labels.jsonl: 5 queries", level=2)).to_be_visible()
    expect_page(tab, AppPage.EVALUATION)


def cell(tab: Page, row: int, column: int) -> Locator:
    """Of the levels: right, wrong, off-topic by PRECISE, HIGHLY_RELEVANT, REFERENCE, nothing; from 0."""
    body = tab.locator(".st-key-evaluation_levels .kb-confusion tbody")
    return body.locator("tr").nth(row).locator("td").nth(column)


def move(tab: Page, slider: str, key: str) -> None:
    tab.locator(f".st-key-{slider} input[type=range]").press(key)
    expect_page(tab, AppPage.EVALUATION)


def test_a_call_that_is_marked_wrong_stands_on_the_page_with_its_card(open_tab: OpenTab, app: RunningApp) -> None:
    tab = open_tab(PATHS[AppPage.SIMULATOR])
    expect_page(tab, AppPage.SIMULATOR)
    card = ask(tab, "ERR_TIMEOUT", 1)
    card.get_by_role("button", name="wrong level").or_(card.get_by_role("radio", name="wrong level")).click()
    wait_until(lambda: app.select("SELECT verdict FROM feedback") == [("wrong-level",)])
    go_to(tab, AppPage.EVALUATION)
    marked = tab.locator(".st-key-evaluation_marked")
    counts = marked.locator("tr", has_text="wrong level").first.locator("td")  # the table of marks follows
    expect(counts).to_have_text(["1", "1"])
    expect(marked.get_by_role("columnheader", name="PRECISE")).to_be_visible()
    marked.locator(".dvn-scroller").click(position=FIRST_ROW)
    expect(marked.get_by_role("heading", name="ERR_TIMEOUT", level=2)).to_be_visible()
    expect_page(tab, AppPage.EVALUATION)
    screenshot(tab, "evaluation-marked")


def test_a_threshold_that_moves_changes_levels_and_is_applied(open_tab: OpenTab, app: RunningApp) -> None:
    tab = open_tab(PATHS[AppPage.EVALUATION])
    expect_page(tab, AppPage.EVALUATION)
    run_labels(tab, app)
    expect(cell(tab, 0, 0)).to_have_text("1 ✓")
    expect(cell(tab, 1, 0)).to_have_text("1 ✗")
    expect(cell(tab, 2, 3)).to_contain_text("1")
    screenshot(tab, "evaluation-result")
    move(tab, "evaluation_reference", "Home")
    expect(cell(tab, 2, 2)).to_have_text("0 → 1")
    move(tab, "evaluation_highly", "Home")
    expect(cell(tab, 2, 1)).to_have_text("0 → 1 ✗")
    screenshot(tab, "evaluation-what-if")
    tab.locator(".st-key-evaluation_apply button").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("highly-relevant-threshold: 0 ")
    screenshot(tab, "evaluation-apply")
    dialog.get_by_role("button", name="Write and apply").click()
    expect(tab.get_by_text("In force from the next lookup on")).to_be_visible()
    settings = (app.documents.parent / "kbapp.yaml").read_text(encoding="utf-8")
    assert "highly-relevant-threshold: 0.0" in settings
    go_to(tab, AppPage.SIMULATOR)
    expect(ask(tab, "zqxv blorp", 1)).to_contain_text("HIGHLY RELEVANT")


def test_every_wrong_line_of_a_file_is_listed(open_tab: OpenTab, app: RunningApp) -> None:
    tab = open_tab(PATHS[AppPage.EVALUATION])
    expect_page(tab, AppPage.EVALUATION)
    wait_until(lambda: app.is_indexed("重试三次"))
    upload_labels(tab, '{"id": 1}\n?\n' + json.dumps({**LABELS[0], "relevant": ["api/absent.md"]}))
    choice = tab.locator(".st-key-evaluation_choice")
    expect(choice).to_contain_text("labels.jsonl: 3 lines cannot be used, so nothing is computed")
    expect(tab.locator(".st-key-evaluation_start")).to_have_count(0)
    screenshot(tab, "evaluation-faults")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_result_has_no_serious_finding(open_tab: OpenTab, app: RunningApp, scheme: str) -> None:
    tab = open_tab(PATHS[AppPage.EVALUATION], color_scheme=scheme, bypass_csp=True)
    expect_page(tab, AppPage.EVALUATION)
    run_labels(tab, app)
    move(tab, "evaluation_reference", "Home")
    tab.locator(".st-key-evaluation_queries .dvn-scroller").click(position=FIRST_ROW)
    expect(tab.locator(".st-key-evaluation_detail").get_by_role("heading", level=2)).to_be_visible()
    assert grave_findings(tab) == []
