"""What people do with the app, in a real browser, over a server of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from kbapp.surfaces.ui.context import Page as AppPage
from kbapp.surfaces.ui.texts import CATALOGUE
from tests.browser.conftest import WAIT_MILLISECONDS, OpenTab, screenshot, session_of
from tests.browser.running_app import RunningApp
from tests.knowledge import document
from tests.waiting import wait_until

pytestmark = pytest.mark.browser
expect.set_options(timeout=WAIT_MILLISECONDS)

PATHS = {page: "/" if page is AppPage.HOME else f"/{Path(page).stem}" for page in AppPage}
REFUND = document("退款规则", "ERR_REFUND, 退款", "## 到账时间\n\n银行快捷退款三天到账。")


def heading(tab: Page, text: str) -> Locator:
    return tab.get_by_role("heading", name=text, exact=True, level=1)


def expect_page(tab: Page, page: AppPage, language: int = 0) -> None:
    """The page stands, to its end, without an error."""
    expect(heading(tab, CATALOGUE[f"menu.{page.name.lower()}"][language])).to_be_visible()
    expect(tab.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(tab.get_by_test_id("stSkeleton")).to_have_count(0)
    expect(tab.get_by_test_id("stException")).to_have_count(0)
    expect(tab.get_by_test_id("stAlertContentError")).to_have_count(0)


def go_to(tab: Page, page: AppPage) -> None:
    tab.get_by_test_id("stSidebar").get_by_role("link", name=CATALOGUE[f"menu.{page.name.lower()}"][0]).click()
    expect_page(tab, page)


def ask(tab: Page, query: str, number: int) -> Locator:
    """Send a message in the simulator; its card, the ``number``-th."""
    box = tab.get_by_test_id("stChatInputTextArea")
    box.fill(query)
    box.press("Enter")
    cards = tab.locator("[class*='st-key-call_']")
    expect(cards).to_have_count(number)
    expect(cards.last.get_by_role("heading", name=query, level=2)).to_be_visible()
    return cards.last


@pytest.mark.parametrize("page", AppPage)
def test_a_deep_link_opens_each_page_of_a_fresh_server(open_tab: OpenTab, page: AppPage) -> None:
    tab = open_tab(PATHS[page])
    expect_page(tab, page)
    screenshot(tab, f"{page.name.lower()}-1280-light-en")
    narrow = open_tab(PATHS[page], width=800, color_scheme="dark", locale="zh-CN")
    expect_page(narrow, page, language=1)
    screenshot(narrow, f"{page.name.lower()}-800-dark-zh")


def test_an_uploaded_file_is_precise_and_then_a_repeat_and_both_are_rows(open_tab: OpenTab, app: RunningApp) -> None:
    tab = open_tab(PATHS[AppPage.KNOWLEDGE_BASE])
    expect_page(tab, AppPage.KNOWLEDGE_BASE)
    wait_until(lambda: app.is_indexed("重试三次"))
    tab.reload()
    upload(tab, "refund.md", REFUND)
    screenshot(tab, "upload-done")
    go_to(tab, AppPage.SIMULATOR)
    expect(ask(tab, "ERR_REFUND", 1)).to_contain_text("PRECISE")
    expect(ask(tab, "ERR_REFUND", 2)).to_contain_text("DEDUPED")
    screenshot(tab, "upload-asked-twice")
    assert app.calls(session_of(tab)) == [
        ("ERR_REFUND", "PRECISE", None),
        ("ERR_REFUND", "DEDUPED", "doc_retrieved"),
    ]
    assert (app.documents / "api" / "refund.md").read_text(encoding="utf-8") == REFUND


def upload(tab: Page, name: str, text: str) -> None:
    """Drop a file, choose the category ``api``, save, and wait for the outcome."""
    tab.locator("[class*='st-key-kb_files_'] input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/markdown", "buffer": text.encode("utf-8")}
    )
    tab.locator(".st-key-kb_category input").click()
    tab.get_by_role("option", name="api", exact=True).click()
    tab.locator(".st-key-kb_save button").click()
    expect(tab.get_by_text(f"indexed · api/{name}")).to_be_visible()


def test_two_tabs_are_two_sessions(open_tab: OpenTab, app: RunningApp) -> None:
    first, second = open_tab(PATHS[AppPage.SIMULATOR]), open_tab(PATHS[AppPage.SIMULATOR])
    for tab in (first, second):
        expect_page(tab, AppPage.SIMULATOR)
        expect(ask(tab, "ERR_TIMEOUT", 1)).to_contain_text("PRECISE")
    assert session_of(first) != session_of(second)
    for tab in (first, second):
        assert app.calls(session_of(tab)) == [("ERR_TIMEOUT", "PRECISE", None)]
    screenshot(second, "two-tabs-second")


def test_a_text_that_is_edited_on_disk_is_found(open_tab: OpenTab, app: RunningApp) -> None:
    tab = open_tab(PATHS[AppPage.SIMULATOR])
    expect_page(tab, AppPage.SIMULATOR)
    wait_until(lambda: app.is_indexed("escalation"))
    expect(ask(tab, "袋鼠回滚流程", 1)).to_contain_text("NOT FOUND")
    with (app.documents / "general.md").open("a", encoding="utf-8") as file:
        file.write("\n## 袋鼠回滚流程\n\n袋鼠回滚流程：先停止写入。\n")
    wait_until(lambda: app.is_indexed("先停止写入"))
    expect(ask(tab, "袋鼠回滚流程", 2)).to_contain_text("先停止写入")
    screenshot(tab, "edited-on-disk")


def test_a_deleted_document_is_no_longer_found(open_tab: OpenTab, app: RunningApp) -> None:
    tab = open_tab(PATHS[AppPage.SIMULATOR])
    expect_page(tab, AppPage.SIMULATOR)
    wait_until(lambda: app.is_indexed("重试三次"))
    expect(ask(tab, "ERR_TIMEOUT", 1)).to_contain_text("PRECISE")
    tab.goto(f"{app.url}/knowledge_base?document=api/payment.md&session={session_of(tab)}")
    expect_page(tab, AppPage.KNOWLEDGE_BASE)
    tab.locator(".st-key-kb_delete button").click()
    expect(tab.get_by_role("dialog")).to_be_visible()
    screenshot(tab, "delete-question")
    tab.locator(".st-key-kb_delete_yes button").click()
    expect(tab.get_by_text("api/payment.md is deleted.")).to_be_visible()
    screenshot(tab, "delete-done")
    assert not (app.documents / "api" / "payment.md").exists()
    other = open_tab(PATHS[AppPage.SIMULATOR])
    expect_page(other, AppPage.SIMULATOR)
    expect(ask(other, "ERR_TIMEOUT", 1)).to_contain_text("NOT FOUND")
    assert not app.is_indexed("重试三次")


def test_a_request_to_elsewhere_is_refused_and_noticed(open_tab: OpenTab, foreign_requests: set[str]) -> None:
    tab = open_tab()
    refused = tab.evaluate("fetch('http://elsewhere.example/').then(() => false, () => true)")
    assert refused
    assert foreign_requests == {"http://elsewhere.example/"}
    foreign_requests.clear()
