"""The folder of Milvus Lite opened, and mended after a crash.

Traps of Milvus Lite 3.2, each one seen:

- Two first requests at once open one collection twice, each with a write-ahead log of its own: all collections are
  opened before anybody else knows the address.
- Killed between the commit of its manifest and the deletion of the log, it shows rows twice after opening. A flush
  mends that only if it comes before any other write and before the compaction that starts with the opening; so rows
  that are there twice are written once more.
- A flush after a kill writes the same Parquet file in place: killed there, the collection can never be opened again,
  and ``list_collections`` fails with it. Such a collection is set aside: vectors can be made again from the files.
- Killed while it creates a collection, it leaves a folder without ``schema.json``, and that name can never be created
  again.
- Killed while it saves a search index, it leaves a file that is cut off; the collection opens and cannot be loaded.
- A collection that it has opened it goes on writing to, also when its folder is moved away.
"""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from kbapp.adapters.disk import make_private_folder
from kbapp.adapters.milvus_client import MilvusClient, failure_code, failure_reason, milvus_failures, open_client
from kbapp.adapters.milvus_folder import COLLECTIONS_FOLDER, INDEXES_FOLDER, SERVED_FOLDERS
from kbapp.adapters.milvus_schema import is_collection_of

_MARKER_PREFIX = "kbapp_"
_ENGINE_FAILED = 1
_ALL_ROWS = 10_000_000  # Milvus Lite has no limit of its own
_ROWS_AT_ONCE = 500

_log = logging.getLogger(__name__)


def _remove_unfinished(folder: Path) -> None:
    """What a kill during the creation of a collection left; only before the server starts."""
    for collection in folder.glob(f"{COLLECTIONS_FOLDER}/*"):
        if is_collection_of("", collection.name) and not (collection / "schema.json").exists():
            shutil.rmtree(collection)


def serve_folder(folder: Path, damaged: Path, seconds: float) -> tuple[str, str]:
    """Serve the folder with one more user: the address, and the name of an empty database that it alone has.

    A collection that cannot be opened moves to the folder ``damaged``.

    Raises:
        FolderRefused: Milvus Lite is not there, or does not open the folder.
        MilvusException: a flush failed, for want of space for instance.
    """
    while True:
        _remove_unfinished(folder)
        uri = SERVED_FOLDERS.serve(folder)
        try:
            with closing(open_client(uri, "", seconds)) as client:
                if not _set_damaged_aside(client, folder, damaged, seconds):
                    return uri, _marker(client, seconds)
        except BaseException:
            SERVED_FOLDERS.leave(folder)
            raise
        SERVED_FOLDERS.leave(folder)  # it would go on writing to what was set aside


def _set_damaged_aside(client: MilvusClient, folder: Path, damaged: Path, seconds: float) -> bool:
    """Open and flush each of our collections; whether one that cannot be opened was set aside."""
    is_damaged = False
    for schema in sorted(folder.glob(f"{COLLECTIONS_FOLDER}/*/schema.json")):
        collection = schema.parent
        if not is_collection_of("", collection.name):
            continue
        was_killed = any(collection.glob("wal/*"))
        reason = _failure_to_load(client, collection, seconds)
        if reason is not None:
            _log.warning("The vectors in %s cannot be read and will be made again: %s", collection.name, reason)
            _set_aside(collection, damaged)
            is_damaged = True
            continue
        if was_killed:
            _merge_twins(client, collection.name, seconds)
        client.flush(collection.name, timeout=seconds)
    return is_damaged


def _failure_to_load(client: MilvusClient, collection: Path, seconds: float) -> str | None:
    """Load a collection, a second time without the files that can be made of the others."""
    for is_last in (False, True):
        try:
            client.load_collection(collection.name, timeout=seconds)
        except milvus_failures() as error:
            if failure_code(error) != _ENGINE_FAILED:
                raise
            if is_last:
                return failure_reason(error)
            for file in collection.glob(f"partitions/*/{INDEXES_FOLDER}/*"):
                file.unlink()
        else:
            break
    return None


def _merge_twins(client: MilvusClient, name: str, seconds: float) -> None:
    """Write again what the log and a file both hold; killed here, the log is still there and it is done again."""
    rows = client.query(name, filter="", limit=_ALL_ROWS, output_fields=["id"], timeout=seconds)
    twins = [str(chunk_id) for chunk_id, count in Counter(row["id"] for row in rows).items() if count > 1]
    for start in range(0, len(twins), _ROWS_AT_ONCE):
        some = twins[start : start + _ROWS_AT_ONCE]
        client.upsert(name, client.get(name, ids=some, output_fields=["*"], timeout=seconds), timeout=seconds)


def _set_aside(collection: Path, damaged: Path) -> None:
    make_private_folder(damaged)
    shutil.rmtree(damaged / collection.name, ignore_errors=True)
    collection.replace(damaged / collection.name)


def _marker(client: MilvusClient, seconds: float) -> str:
    names = [str(name) for name in client.list_databases(timeout=seconds)]
    found = sorted(name for name in names if name.startswith(_MARKER_PREFIX))
    if found:
        return found[0]
    marker = f"{_MARKER_PREFIX}{uuid4().hex}"
    client.create_database(marker, timeout=seconds)
    return marker
