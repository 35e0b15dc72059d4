"""Archives that no export wrote: refused with a sentence, before anything changes."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbapp.adapters.backup_archive import ArchiveWriter, read_archive
from kbapp.adapters.backup_import import BackupImport
from kbapp.adapters.backup_places import Places
from kbapp.adapters.document_files import DocumentFiles
from kbapp.domain.backup import MAX_RATIO, Manifest
from kbapp.domain.errors import UserError
from tests.knowledge import tree

TEXT = "# 支付\n".encode()


def member(name: str, data: bytes = TEXT, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def declared(name: str, data: bytes = TEXT, **fields: object) -> dict[str, object]:
    return {"name": name, "size": len(data), "sha256": sha256(data).hexdigest(), "mtime_ns": 0, **fields}


def manifest(*members: dict[str, object], **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    values: dict[str, object] = {
        "format": 1,
        "version": "0.1.0",
        "created_at": "2026-01-01",
        "schema": None,
        "model": None,
        "vectors": False,
        "members": list(members),
    }
    return member("manifest.json", json.dumps(values | fields).encode())


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


GOOD = "documents/api/支付.md"
SPARSE = {f"GNU.sparse.{key}": value for key, value in {"major": "1", "minor": "0", "realsize": "99999999"}.items()}
SPARSE["GNU.sparse.name"] = GOOD
FORMS: dict[str, tuple[bytes, str]] = {
    "absolute": (packed([member("/etc/x.md")]), "which no export writes"),
    "absolute document": (packed([member("documents//etc/x.md")]), "which no export writes"),
    "traversal": (packed([member("documents/../../x.md")]), "which no export writes"),
    "dot": (packed([member("documents/./x.md")]), "which no export writes"),
    "hidden": (packed([member("documents/.kbapp-import/x.md")]), "which no export writes"),
    "other file": (packed([member("documents/run.sh")]), "which no export writes"),
    "escape": (packed([member("documents/a\x1b[31m.md")]), "which no export writes"),
    "decomposed": (packed([member("documents/e\u0301.md")]), "which no export writes"),
    "surrogate": (packed([member("documents/\udc80.md")]), "which no export writes"),
    "symlink": (packed([member(GOOD, b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")]), "a link, a folder or"),
    "hard link": (packed([member(GOOD, b"", type=tarfile.LNKTYPE, linkname="kbapp.sqlite3")]), "a link, a folder or"),
    "device": (packed([member(GOOD, b"", type=tarfile.CHRTYPE, devmajor=1, devminor=3)]), "a link, a folder or"),
    "pipe": (packed([member(GOOD, b"", type=tarfile.FIFOTYPE)]), "a link, a folder or"),
    "sparse": (
        packed([member(GOOD, b"1\n0\n9\n".ljust(512, b"\0") + TEXT, pax_headers=SPARSE)]),
        "a link, a folder or",
    ),
    "folder": (packed([member("documents/a.md", b"", type=tarfile.DIRTYPE)]), "a link, a folder or"),
    "twice": (packed([member(GOOD), member(GOOD), manifest(declared(GOOD))]), "is there twice"),
    "listed twice": (packed([member(GOOD), manifest(declared(GOOD), declared(GOOD))]), "lists a member twice"),
    "after the manifest": (packed([manifest(), member(GOOD)]), "follows manifest.json"),
    "no manifest": (packed([member(GOOD)]), "manifest.json is missing"),
    "larger": (packed([member(GOOD, TEXT * 2), manifest(declared(GOOD))]), "has 18 bytes, manifest.json says 9"),
    "damaged": (packed([member(GOOD, TEXT[::-1]), manifest(declared(GOOD))]), "is damaged"),
    "absent": (packed([manifest(declared(GOOD))]), "is missing"),
    "undeclared": (packed([member(GOOD), manifest()]), "is not in manifest.json"),
    "newer format": (packed([manifest(format=2, version="9.9")]), r"newer kbapp \(9.9, archive format 2"),
    "newer schema": (packed([manifest(schema="V999")]), "schema downgrade refused: .* V999, this kbapp knows V"),
    "no JSON": (packed([member("manifest.json", b"{")]), "is no JSON"),
    "deep JSON": (packed([member("manifest.json", b"[" * 100_000)]), "is no JSON"),
    "hostile path in the manifest": (packed([manifest(declared("documents/../x.md"))]), "which no export writes"),
    "negative size": (packed([manifest(declared(GOOD, size=-1))]), "does not say size"),
    "size as text": (packed([manifest(declared(GOOD, size="9"))]), "does not say size"),
    "huge time": (packed([manifest(declared(GOOD, mtime_ns=10**30))]), "does not say size"),
    "large settings": (packed([member("kbapp.yaml", bytes(2_000_000))]), "has 2,000,000 bytes"),
    "bomb": (packed([member(GOOD, bytes(300_000_000))]), f"more than {MAX_RATIO} times its size"),
    "large header": (
        packed([member(GOOD, pax_headers={"comment": "x" * 2_000_000})]),
        "a header that no export writes",
    ),
    "no gzip": (b"documents", "is damaged or no .tar.gz"),
    "empty": (b"", "is damaged or no .tar.gz"),
    "no tar": (gzip.compress(b"x" * 5000), "is damaged or no .tar.gz"),
    "text after it": (packed([manifest()]) + gzip.compress(b"more"), "follows the end of the archive"),
    "rubbish after it": (packed([manifest()]) + b"more", "is damaged or no .tar.gz"),
    "settings nested": (
        packed([member("kbapp.yaml", b"a: {b: 1}"), manifest(declared("kbapp.yaml", b"a: {b: 1}"))]),
        "settings hold 'a'",
    ),
    "no database": (
        packed([member("kbapp.sqlite3", b"SQLite"), manifest(declared("kbapp.sqlite3", b"SQLite"))]),
        "its database is damaged",
    ),
    "file and folder": (
        packed(
            [
                member("documents/a.md"),
                member("documents/a.md/b.md"),
                manifest(declared("documents/a.md"), declared("documents/a.md/b.md")),
            ]
        ),
        "has the name of another",
    ),
}


@pytest.fixture
def importer(tmp_path: Path) -> BackupImport:
    base, state = tmp_path / "docs", tmp_path / "state"
    base.mkdir()
    return BackupImport(
        Places(base, state, state / "kbapp.sqlite3", tmp_path / "kbapp.yaml"), DocumentFiles(base), Path.exists
    )


@pytest.mark.parametrize("form", FORMS)
def test_what_no_export_wrote_is_refused_and_nothing_changes(importer: BackupImport, tmp_path: Path, form: str) -> None:
    data, words = FORMS[form]
    (tmp_path / "b.tar.gz").write_bytes(data)
    with pytest.raises(UserError, match=words):
        importer.run(tmp_path / "b.tar.gz")
    assert {name for name in tree(tmp_path) if not name.endswith((".lock", ".pid"))} <= {"b.tar.gz", "docs", "state"}


def test_a_header_that_leads_backwards_ends_no_search(importer: BackupImport, tmp_path: Path) -> None:
    """CVE-2025-8194: a negative size had ``tarfile`` read the same header for ever."""
    info = tarfile.TarInfo("documents/a.md")
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 10 + (0x10000 - 512).to_bytes(2, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(bytes(header) + bytes(1024)))
    with pytest.raises(UserError):
        importer.run(tmp_path / "b.tar.gz")


def test_a_pipe_and_a_folder_are_no_archive(importer: BackupImport, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "docs", "none", "x" * 300):
        with pytest.raises(UserError):
            importer.run(tmp_path / name)


def written(file: Path) -> bytes:
    with file.open("wb") as stream, ArchiveWriter(stream) as writer:
        writer.add(GOOD, TEXT * 50)
        writer.add("kbapp.yaml", b"retrieval.l1.top-k: 4\n")
        writer.finish(Manifest("0.1.0", "2026-01-01", None, None, vectors=True, members=tuple(writer.members)))
    return file.read_bytes()


def test_an_archive_is_read_as_it_was_written(tmp_path: Path) -> None:
    written(tmp_path / "b.tar.gz")
    taken = {}
    found = read_archive(tmp_path / "b.tar.gz", lambda name, blocks: taken.update({name: b"".join(blocks)}))
    assert taken == {GOOD: TEXT * 50, "kbapp.yaml": b"retrieval.l1.top-k: 4\n"}
    assert [member.size for member in found.members] == [450, 22]


def test_an_archive_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    data = written(tmp_path / "b.tar.gz")
    for length in range(len(data)):
        (tmp_path / "cut.tar.gz").write_bytes(data[:length])
        with pytest.raises(UserError):
            read_archive(tmp_path / "cut.tar.gz")


@settings(max_examples=200, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 255)), min_size=1, max_size=4))
def test_bytes_changed_in_the_tar_file_are_a_sentence_or_change_nothing_that_is_read(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    plain = bytearray(gzip.decompress(written(folder / "b.tar.gz")))
    for place, change in changes:
        plain[place % len(plain)] ^= change
    (folder / "b.tar.gz").write_bytes(gzip.compress(bytes(plain), 1))
    taken = {}
    try:
        read_archive(folder / "b.tar.gz", lambda name, blocks: taken.update({name: b"".join(blocks)}))
    except UserError:
        return
    assert taken == {GOOD: TEXT * 50, "kbapp.yaml": b"retrieval.l1.top-k: 4\n"}
