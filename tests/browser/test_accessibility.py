"""No serious finding of axe-core on any page, light and dark, with something on it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page

from kbapp.surfaces.ui.context import Page as AppPage
from tests.browser.conftest import OpenTab
from tests.browser.test_journeys import PATHS, ask, expect_page

pytestmark = pytest.mark.browser

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
GRAVE = {"serious", "critical"}


def grave_findings(tab: Page) -> list[str]:
    tab.evaluate(AXE)
    report: dict[str, Any] = tab.evaluate("axe.run()")
    assert report["passes"]
    return [
        f"{finding['id']}: {node['html'][:200]} {node['failureSummary']}"
        for finding in report["violations"]
        if finding["impact"] in GRAVE
        for node in finding["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", AppPage)
def test_a_page_has_no_serious_finding(open_tab: OpenTab, page: AppPage, scheme: str) -> None:
    tab = open_tab(PATHS[AppPage.SIMULATOR], color_scheme=scheme, bypass_csp=True)
    expect_page(tab, AppPage.SIMULATOR)
    ask(tab, "ERR_TIMEOUT", 1)
    card = ask(tab, "ERR_TIMEOUT", 2)
    card.get_by_text("Why this level").click()
    if page is not AppPage.SIMULATOR:
        tab.get_by_test_id("stSidebar").get_by_role("link").nth(list(AppPage).index(page)).click()
        expect_page(tab, page)
    assert grave_findings(tab) == []
