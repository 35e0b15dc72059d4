"""What `kbapp doctor` says of folders and the app's port."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.environment_checks import app_port, folder_problems
from kbapp.domain.health import PortState


class Answer(http.server.BaseHTTPRequestHandler):
    body = b"ok"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *parts: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_folders_that_can_be_written_are_no_problem(tmp_path: Path) -> None:
    assert list(folder_problems(tmp_path, tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named_with_what_is_lost_and_the_way_out(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    [problem] = folder_problems(missing, tmp_path)
    assert str(missing) in problem.problem
    assert "uploaded" in problem.problem
    assert problem.way_out
    [problem] = folder_problems(tmp_path, missing)
    assert "indexed" in problem.problem


def test_a_port_is_the_apps_when_its_health_page_answers(
    server: http.server.HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert app_port(server.server_port).state is PortState.APP
    monkeypatch.setattr(Answer, "body", b"something else")
    assert app_port(server.server_port).state is PortState.TAKEN


def test_a_port_that_speaks_no_http_is_taken_and_one_that_nobody_holds_is_free() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert app_port(port).state is PortState.FREE  # bound, and nobody listens
        taken.listen()
        assert app_port(port).state is PortState.TAKEN
