"""A Milvus server that somebody names, as a vector index."""

from __future__ import annotations

from pathlib import Path

from kbapp.adapters.milvus_engine import RemoteEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.ports import EmbeddingModel


def server_index(uri: str, *, token: str, state_dir: Path, model: EmbeddingModel, base_folder: str) -> MilvusIndex:
    """The index that ``milvus.uri`` would name with this address; nothing is asked of the server yet.

    Raises:
        UserError: it is no address of a server.
    """
    return MilvusIndex(RemoteEngine(state_dir, uri, token), model=model, base_folder=base_folder)
