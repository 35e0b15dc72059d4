"""Milvus Lite listens on a port without a password: who reaches it, and when it is there at all."""

from __future__ import annotations

import ast
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kbapp.adapters.milvus_engine import ADDRESS_FILE, LocalEngine
from kbapp.adapters.milvus_index import MilvusIndex
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents
from tests.processes.milvus_samples import sample_chunk

ADAPTERS = Path(__file__).resolve().parents[2] / "kbapp" / "adapters"


def is_listening(host: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((host, port), timeout=5):
        return True
    return False


def test_the_engine_listens_on_loopback_alone(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path)
    try:
        port = urlsplit(engine.connect()).port or 0
        assert is_listening("127.0.0.1", port)
        assert not is_listening("127.0.0.2", port)  # every address of the machine would hold this one
    finally:
        engine.close()


def test_lookups_alone_open_no_port(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/a.md": document("支付", "支付", "超时重试三次。")})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        assert (tmp_path / "state" / ADDRESS_FILE).exists()
    with open_for_test(tmp_path) as kb:
        kb.lookup("重试几次")
        assert kb.telemetry()[0].l1_called
        assert not (tmp_path / "state" / ADDRESS_FILE).exists()


@pytest.mark.parametrize("chunk_id", ['x" or id != "', "x' or 1 == 1", "x\\", "a\nb", ""])
def test_no_id_reaches_an_expression_unless_it_is_plain(tmp_path: Path, chunk_id: str) -> None:
    index = MilvusIndex(LocalEngine(tmp_path), model=TinyEmbedder(), base_folder="kb")
    vector = TinyEmbedder().embed_passages(["text"])
    try:
        index.write([sample_chunk(1)], vector)
        index.delete([chunk_id])
        assert len(index.chunk_ids()) == 1
        with pytest.raises(ValueError, match="not a chunk id"):
            index.write([replace(sample_chunk(2), id=chunk_id)], vector)
    finally:
        index.close()


def test_no_filter_is_made_of_what_documents_or_people_say() -> None:
    """pymilvus puts values into expressions as they are: the only filter that we write is none."""
    filters = [
        keyword.value
        for file in ADAPTERS.glob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in {"filter", "expr"} and "milvus" in file.name
    ]
    assert filters
    assert all(isinstance(value, ast.Constant) and value.value == "" for value in filters)
