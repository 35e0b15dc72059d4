"""Chromium as the system has it, tabs that reach nothing but 127.0.0.1, and a fresh server for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, Route, sync_playwright

from tests.browser.running_app import RunningApp, run_app

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
WAIT_MILLISECONDS = 30_000  # on a busy machine; every wait is for a condition

OpenTab = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "chromium is missing: apt-get install chromium fonts-noto-cjk, or name it in CHROMIUM"
    flags = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--no-proxy-server"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[RunningApp]:
    with run_app(tmp_path) as app:
        yield app


@pytest.fixture
def foreign_requests() -> Iterator[set[str]]:
    """Addresses outside 127.0.0.1 that a page asked for; a test that leaves one here has failed."""
    addresses: set[str] = set()
    yield addresses
    assert not addresses


@pytest.fixture
def open_tab(browser: Browser, app: RunningApp, foreign_requests: set[str]) -> Iterator[OpenTab]:
    """Open a page of the app in a tab; each has a browser profile of its own."""
    contexts = []

    def open_one(path: str = "/", *, width: int = 1280, height: int = 1000, **options: Any) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, **({"locale": "en-US", "color_scheme": "light"} | options)
        )
        contexts.append(context)
        context.set_default_timeout(WAIT_MILLISECONDS)
        context.route(_is_foreign, lambda route: _refuse(route, foreign_requests))
        tab = context.new_page()
        tab.on("request", lambda request: _note(request, foreign_requests))
        tab.on("websocket", lambda socket: foreign_requests.add(socket.url) if _is_foreign(socket.url) else None)
        tab.goto(f"{app.url}{path}")
        return tab

    yield open_one
    for context in contexts:
        context.close()


def session_of(tab: Page) -> str:
    """The session that the tab's address names."""
    return parse_qs(urlsplit(tab.url).query)["session"][0]


def screenshot(tab: Page, name: str) -> None:
    """Keep what the tab shows, for people to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    tab.screenshot(path=SCREENSHOTS / f"{name}.png")


def _is_foreign(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname != "127.0.0.1"


def _refuse(route: Route, foreign: set[str]) -> None:
    foreign.add(route.request.url)
    route.abort()


def _note(request: Request, foreign: set[str]) -> None:
    if _is_foreign(request.url):
        foreign.add(request.url)
