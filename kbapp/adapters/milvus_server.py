"""A Milvus server that somebody names, as a vector index."""

from __future__ import annotations

import re
from pathlib import Path

from kbapp.adapters.endpoint_address import is_plain_address
from kbapp.adapters.milvus_engine import RemoteEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.errors import UserError
from kbapp.domain.ports import EmbeddingModel

_HOST_AND_PORT = re.compile(r"[^/\\:]+:[0-9]{1,5}")


def server_index(uri: str, *, token: str, state_dir: Path, model: EmbeddingModel, base_folder: str) -> MilvusIndex:
    """The index that ``milvus.uri`` would name with this address; nothing is asked of the server yet.

    Raises:
        UserError: it is no address of a server.
    """
    if not is_plain_address(uri):
        raise UserError(_refusal(uri))
    return MilvusIndex(RemoteEngine(state_dir, uri, token), model=model, base_folder=base_folder)


def _refusal(uri: str) -> str:
    if "@" in uri:  # not repeated: it may hold a password
        return "the address holds a user or a password: write http://host:port and put them into milvus.token"
    if "://" in uri:
        return f"{uri!r} is no address of a Milvus server: write http://host:port, or https:// for one with TLS"
    if _HOST_AND_PORT.fullmatch(uri):
        return f"{uri!r} has no scheme: write http://{uri}, or https:// for a server with TLS"
    return (
        f"{uri!r} is no address of a Milvus server (http://host:port): to have the vectors in a folder,"
        " set milvus.uri to it and run `kbapp index`"
    )
