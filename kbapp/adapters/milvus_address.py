"""``milvus.address``: where the owner of a Milvus Lite folder serves it."""

from __future__ import annotations

import json
import re
import socket
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kbapp.adapters.disk import PRIVATE_FILE, write_whole
from kbapp.adapters.endpoint_address import is_plain_address
from kbapp.adapters.milvus_client import milvus_failures, open_client
from kbapp.domain.errors import UserError

_HOST_AND_PORT = re.compile(r"[^/\\:]+:[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class VectorStoreAddress:
    """Address and process id of the owner; ``nonce`` names an empty database that only the server of ``folder`` has."""

    uri: str
    pid: int
    nonce: str
    folder: str


def read_address(file: Path) -> VectorStoreAddress | None:
    """The address; None when there is none that can be read."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        return VectorStoreAddress(str(values["uri"]), int(values["pid"]), str(values["nonce"]), str(values["folder"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_address(file: Path, address: VectorStoreAddress) -> None:
    """Tell the address, at once and whole; one writer at a time."""
    replace_text(file, json.dumps(asdict(address)))


def replace_text(file: Path, text: str) -> None:
    """Write a small file of our own so that no reader sees half of it."""
    write_whole(file, text.encode(), mode=PRIVATE_FILE)


def check_server_address(uri: str) -> None:
    """Refuse what is no address of a Milvus server, or holds a password that every sentence about it would show.

    Raises:
        UserError: see above.
    """
    if not is_plain_address(uri):
        raise UserError(_refusal(uri))


def is_served(address: VectorStoreAddress, seconds: float) -> bool:
    """Whether the folder's server answers there within the time; the port may have gone to another program since."""
    if not _is_listening(address.uri, seconds):
        return False
    try:
        with closing(open_client(address.uri, "", seconds)) as client:
            return address.nonce in client.list_databases(timeout=seconds)
    except milvus_failures():
        return False


def _is_listening(uri: str, seconds: float) -> bool:
    """Ask the port first: gRPC goes on trying at a closed one until the time is over."""
    try:
        parts = urlsplit(uri)
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=seconds).close()
    except (OSError, ValueError):
        return False
    return True


def _refusal(uri: str) -> str:
    if {"@", "?", "#"} & set(uri):  # not repeated: it may hold a password
        return "the address holds a user, a password or a key: write http://host:port and put them into milvus.token"
    if "://" in uri:
        return f"{uri!r} is no address of a Milvus server: write http://host:port, or https:// for one with TLS"
    if _HOST_AND_PORT.fullmatch(uri):
        return f"{uri!r} has no scheme: write http://{uri}, or https:// for a server with TLS"
    return (
        f"{uri!r} is no address of a Milvus server (http://host:port): to have the vectors in a folder,"
        " set milvus.uri to it and run `kbapp index`"
    )
