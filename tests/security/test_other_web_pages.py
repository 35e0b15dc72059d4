"""A hostile page in the same browser: which requests to the app are let in, however and wherever it was started."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from kbapp.surfaces.ui.context import Page
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents
from tests.processes.milvus_processes import free_port
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
# What another app may have needed; neither the folder of the person nor the one it is started in may open ours.
CARELESS = """
[server]
allowedHosts = ["*"]
enableCORS = false
corsAllowedOrigins = ["http://evil.example"]
enableXsrfProtection = false
enableStaticServing = true
enableAgentApi = true
scriptHealthCheckEnabled = true
address = "0.0.0.0"
[client]
allowedOrigins = ["http://evil.example"]
disableDataExport = false
showErrorDetails = "full"
[browser]
gatherUsageStats = true
"""
STARTS = {"kbapp app": ["-m", "kbapp", "app", "--no-browser", "--port"], "streamlit run": ["-m", "streamlit", "run"]}


def command(name: str, port: int) -> list[str]:
    if name == "kbapp app":
        return [sys.executable, *STARTS[name], str(port)]
    flags = ["--server.port", str(port), "--server.headless", "true"]
    return [sys.executable, *STARTS[name], str(ROOT / Page.HOME), *flags]


@pytest.fixture(scope="module", params=STARTS)
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an app that was started in a folder, and by a person, with careless settings of Streamlit."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for place in (folder, folder / "home"):
        write_documents(place, {".streamlit/config.toml": CARELESS})
    write_documents(folder / "knowledge_base", {"api/a.md": document("支付", "支付", "超时")})
    number = free_port()
    with serve_embedder(TinyEmbedder()) as url, (folder / "app.log").open("wb") as log:
        settings = {"KBAPP_EMBEDDING__MODEL": "openai:tiny", "KBAPP_EMBEDDING__BASE_URL": url}
        environment = os.environ | settings | {"HOME": str(folder / "home"), "USERPROFILE": str(folder / "home")}
        words = command(request.param, number)
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: process.poll() is not None or is_listening("127.0.0.1", number), 60)
            assert process.poll() is None, (folder / "app.log").read_text(encoding="utf-8", errors="replace")
            yield number
        finally:
            process.terminate()
            process.wait(30)


def is_listening(host: str, number: int) -> bool:
    with suppress(OSError), socket.create_connection((host, number), timeout=5):
        return True
    return False


def status(number: int, path: str, method: str = "GET", **headers: str) -> int:
    connection = HTTPConnection("127.0.0.1", number, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in ({"Host": f"127.0.0.1:{number}"} | headers).items():
            connection.putheader(name.replace("_", "-"), value.replace("PORT", str(number)))
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


def handshake(number: int, **headers: str) -> int:
    """The status that a page's WebSocket gets, over which everything that the app shows and does goes."""
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Key": key, "Sec_WebSocket_Version": "13"}
    return status(number, "/_stcore/stream", **(upgrade | headers))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Origin": "http://127.0.0.1:PORT"}, 101),
        ({"Origin": "http://localhost:PORT", "Host": "localhost:PORT"}, 101),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example:PORT", "Host": "evil.example:PORT"}, 403),  # rebound to 127.0.0.1
        ({"Origin": "http://127.0.0.1.evil.example", "Host": "127.0.0.1.evil.example"}, 403),
    ],
)
def test_only_the_apps_own_pages_reach_it(port: int, headers: dict[str, str], expected: int) -> None:
    assert handshake(port, **headers) == expected


def test_it_listens_on_loopback_alone(port: int) -> None:
    assert is_listening("127.0.0.1", port)
    assert not is_listening("127.0.0.2", port)  # every address of the machine would hold this one


@pytest.mark.parametrize("name", ["mcp", "interact"])
def test_nothing_but_the_pages_drives_the_app(port: int, name: str) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    connection.request("POST", f"/_stcore/agent/{name}", body, {"Content-Type": "application/json"})
    assert b"not_available" in connection.getresponse().read()
    connection.close()


def test_an_upload_from_elsewhere_is_refused(port: int) -> None:
    upload = "/_stcore/upload_file/a-session/a-file"
    assert status(port, upload, "PUT", Origin="http://evil.example", Content_Length="0") == 403
