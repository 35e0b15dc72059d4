"""Kills exports and imports right before each change that they make to the disk, and says what the next start finds.

``python -m tests.processes.backup_killed import|export FOLDER [STEP]``: one JSON value per kill on stdout, until one
runs through; with STEP before each change of so many. A process of its own: a fork of one with threads may hang.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from kbapp.adapters.backup_apply import finish_import
from kbapp.adapters.backup_archive import read_archive
from kbapp.adapters.backup_export import BackupExport
from kbapp.adapters.backup_import import BackupImport
from kbapp.adapters.backup_places import Places
from kbapp.adapters.database import Database
from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.domain.errors import UserError
from tests.knowledge import tree, write_documents
from tests.values import make_invocation

_CHANGES = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.utime",
    "os.chmod",
    "shutil.rmtree",
    "sqlite3.connect",
}
OLD = {"same.md": "# old same", "old/gone.md": "# gone", "A.md": "# A", "keep.txt": "kept"}
NEW = {"same.md": "# new same", "new/支付.md": "# 支付", "a.md": "# a", "synonyms.yaml": "- [a, b]"}


def places_in(folder: Path) -> Places:
    state = folder / "state"
    return Places(folder / "docs", state, state / "kbapp.sqlite3", folder / "kbapp.yaml")


def make(folder: Path, documents: dict[str, str], call: str) -> Places:
    places = places_in(folder)
    write_documents(places.base_folder, documents)
    database = Database(places.database)
    InvocationLog(database).record(make_invocation(call))
    database.close()
    return places


def exporter(places: Places) -> BackupExport:
    return BackupExport(places, DocumentFiles(places.base_folder))


def importer(places: Places) -> BackupImport:
    return BackupImport(places, DocumentFiles(places.base_folder), Path.exists)


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Whether a child was killed right before its change of this number; else it has come to its end."""
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            is_change = event in _CHANGES or (event == "open" and _writes(arguments))
            seen += is_change
            if is_change and seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status != 0


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


def calls(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM tool_invocation")]


def state_of(places: Places) -> str:
    """``old``, ``new``, or what it is instead."""
    files = {name: data.decode() for name, data in tree(places.base_folder).items() if data is not None}
    found = (files, calls(places.database))
    wanted = {"old": (OLD, ["old"]), "new": ({**NEW, "keep.txt": "kept"}, ["new"])}
    return next((name for name, value in wanted.items() if value == found), repr(found))


def staged(places: Places) -> list[str]:
    return [name for name in ("state/import", "docs/.kbapp-import") if (places.base_folder.parent / name).exists()]


def kept(places: Places) -> list[bool]:
    """Of each archive of what was there whether it is whole, and holds all."""
    files = {f"documents/{name}": sha256(text.encode()).hexdigest() for name, text in OLD.items() if name != "keep.txt"}
    found = []
    for archive in places.state_folder.glob("before-import-*"):
        members = {member.name: member.sha256 for member in read_archive(archive).members}
        found.append("kbapp.sqlite3" in members and files.items() <= members.items())
    return found


def kill_imports(folder: Path, step: int) -> None:
    archive = folder / "b.tar.gz"
    exporter(make(folder / "new", NEW, "new")).run(archive)
    make(folder / "template", OLD, "old")
    number, is_killed = 0, True
    while is_killed:
        number += step
        places, again = (places_in(folder / name) for name in ("start", "again"))
        for target in (places, again):
            shutil.rmtree(target.base_folder.parent, ignore_errors=True)
        shutil.copytree(folder / "template", places.base_folder.parent)
        is_killed = killed_at(number, lambda: importer(places).run(archive, replacing=True))  # noqa: B023 - run at once
        if is_killed:
            adopt(places, again)
        finish_import(places.state_folder)
        found = {"start": state_of(places), "kept": kept(places), "staged": staged(places)}
        if is_killed:
            try:
                importer(again).run(archive)
                found["again"] = "imported"
            except UserError as error:
                found["again"] = str(error)
            importer(again).run(archive, replacing=True)
            found |= {"in the end": state_of(again), "left": staged(again)}
        print(json.dumps(found), flush=True)


def adopt(places: Places, again: Places) -> None:
    """A copy of what was killed; its journal names the folders."""
    shutil.copytree(places.base_folder.parent, again.base_folder.parent)
    for name in ("journal.json", "base"):
        file = again.state_folder / "import" / name
        if file.exists():
            former, present = (str(place.base_folder.parent) for place in (places, again))
            file.write_text(file.read_text(encoding="utf-8").replace(former, present), encoding="utf-8")


def kill_exports(folder: Path, step: int) -> None:
    places = make(folder / "template", OLD, "old")
    archive = folder / "b.tar.gz"
    number, is_killed = 0, True
    while is_killed:
        number += step
        archive.unlink(missing_ok=True)
        is_killed = killed_at(number, lambda: exporter(places).run(archive))
        if archive.exists():
            read_archive(archive)
        exporter(places).run(archive, force=True)
        read_archive(archive)
        files = (*folder.iterdir(), *places.state_folder.iterdir())
        left = [file.name for file in files if "export" in file.name]
        print(json.dumps({"left": left}), flush=True)


if __name__ == "__main__":
    # A kill loses nothing that the system was told; these wait for the disk.
    os.sync = lambda: None
    os.fsync = lambda descriptor: None
    kinds = {"import": kill_imports, "export": kill_exports}
    kinds[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
