"""``milvus.address``: where the owner of a Milvus Lite folder serves it."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kbapp.adapters.milvus_client import milvus_failures, open_client


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
    """Write a small file so that no reader sees half of it; one writer at a time."""
    temporary = file.with_name(f"{file.name}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)


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
