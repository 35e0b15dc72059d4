"""What a kill can leave in the folder of Milvus Lite, and that the next opening mends it (S4)."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kbapp.adapters.milvus_engine import DAMAGED_FOLDER
from tests.processes.milvus_samples import local_index, sample_id, sample_vectors, write_samples

X = sample_vectors(range(1))[0]


def ids(numbers: range) -> set[str]:
    return {sample_id(number) for number in numbers}


def cut_off(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 5)


def make_empty(file: Path) -> None:
    os.truncate(file, 0)


def fill_with_others(file: Path) -> None:
    with file.open("wb") as stream:
        np.save(stream, np.zeros((5, 3), dtype=np.float32))


@pytest.mark.parametrize("damage", [make_empty, cut_off, fill_with_others])
def test_s4_a_file_of_the_search_index_that_was_cut_off_is_made_again(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    with closing(local_index(tmp_path)) as index:
        write_samples(index, range(5))
    files = list((tmp_path / "milvus.db").rglob("*.idx"))
    assert files
    for file in files:
        damage(file)
    for count in (6, 7):
        with closing(local_index(tmp_path)) as index:
            write_samples(index, range(5, count))
            assert index.chunk_ids() == {hit.chunk_id for hit in index.search(X, 100)} == ids(range(count))
            assert index.search(X, 1)[0].distance < 1e-6
    assert not (tmp_path / DAMAGED_FOLDER).exists()


def test_s4_a_collection_that_opens_and_cannot_be_loaded_is_set_aside_and_written_again(tmp_path: Path) -> None:
    with closing(local_index(tmp_path)) as index:
        write_samples(index, range(5))
        name = index.collection_name()
    [indexes] = (tmp_path / "milvus.db").rglob("indexes")
    for file in indexes.iterdir():
        file.unlink()
    indexes.rmdir()
    indexes.write_text("in the way")
    for count in (6, 7):
        with closing(local_index(tmp_path)) as index:
            write_samples(index, range(5, count))
            assert index.chunk_ids() == {hit.chunk_id for hit in index.search(X, 100)} == ids(range(5, count))
    assert [folder.name for folder in (tmp_path / DAMAGED_FOLDER).iterdir()] == [name]
