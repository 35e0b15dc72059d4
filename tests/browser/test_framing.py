"""A page of others shows the app in a frame of its own, to lay its buttons over ours."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import WAIT_MILLISECONDS, OpenTab
from tests.browser.running_app import RunningApp

pytestmark = pytest.mark.browser
expect.set_options(timeout=WAIT_MILLISECONDS)


@pytest.fixture
def hostile_page(app: RunningApp) -> Iterator[str]:
    """The address of a page with the app in a frame."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<iframe id="bait" src="{app.url}/knowledge_base" width="1200" height="900">'.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_in_a_frame_of_others_the_app_shows_nothing_that_can_be_clicked(open_tab: OpenTab, hostile_page: str) -> None:
    tab = open_tab()
    expect(tab.get_by_test_id("stApp")).to_be_visible()  # alone it stands
    expect(tab.get_by_role("button").first).to_be_visible()
    tab.goto(hostile_page)
    frame = tab.frame_locator("#bait")
    expect(frame.locator("html")).to_be_attached()
    expect(frame.locator("html > *")).to_have_count(0)
    expect(frame.get_by_role("button")).to_have_count(0)
