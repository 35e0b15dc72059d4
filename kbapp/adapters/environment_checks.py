"""What of the machine the app needs: folders that can be written, and the port of its page."""

from __future__ import annotations

import http.client
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from kbapp.adapters.disk import is_open_to_others
from kbapp.domain.health import AppPort, PortState, Problem

APP_PORT = 8501  # Streamlit's own
_SECONDS = 1.0


def folder_problems(base_folder: Path, state_folder: Path) -> Iterator[Problem]:
    """The folders that cannot be written, each with what does not work then and the way out."""
    for folder, loss in (
        (base_folder, "documents cannot be uploaded or deleted"),
        (state_folder, "nothing can be indexed or recorded"),
    ):
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            reason = error.strerror or str(error)
            yield Problem(f"{folder} cannot be written ({reason}): {loss}", "make it writable, or name another folder")
    with suppress(OSError):  # not there: said above
        if is_open_to_others(state_folder):
            yield Problem(f"other users of this machine can look into {state_folder}", f"chmod 700 {state_folder}")


def app_port(port: int = APP_PORT) -> AppPort:
    """Whether the app answers on this port of 127.0.0.1, another program does, or nobody."""
    with closing(socket.socket()) as probe:
        probe.settimeout(_SECONDS)
        if probe.connect_ex(("127.0.0.1", port)) != 0:
            return AppPort(port, PortState.FREE)
    return AppPort(port, PortState.APP if _is_streamlit(port) else PortState.TAKEN)


def _is_streamlit(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().read(16) == b"ok"
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
