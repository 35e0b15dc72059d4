"""Files under one folder: located without leaving it, whatever links say, and written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kbapp.domain.document_paths import unreadable_characters
from kbapp.domain.errors import UserError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_OTHERS = 0o077
_TEMPORARY = ".kbapp-{}.tmp"
# Opening a named pipe would wait for its writer; Windows translates line ends unless told not to.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def locate(root: Path, path: str) -> Path:
    """The file at a relative NFC path, in the Unicode form it has on disk, or where it would be.

    Raises:
        UserError: the path or a link in it leads outside ``root``.
    """
    file = str(root)
    is_linked = False
    for name in path.split("/"):
        if not _is_plain_name(name):
            raise UserError(f"{path!r} is not a path inside {root.name}/: give one like api/x.md")
        file, is_link = _child(file, name)
        is_linked = is_linked or is_link
    if is_linked and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
        raise UserError(f"{path} leads outside {root.name}/ by a link: copy what it leads to into the folder")
    return Path(file)


def read_whole(file: Path, check_size: Callable[[int], None]) -> bytes:
    """The bytes of a regular file, after ``check_size`` has accepted their number, in few system calls.

    Raises:
        OSError: the file is missing or cannot be read.
        UserError: it is a folder, a pipe or the like.
    """
    descriptor = os.open(file, _READ)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"{file.name} is not a regular file: replace it by one")
        check_size(status.st_size)
        data = os.read(descriptor, status.st_size)
        while len(data) < status.st_size and (block := os.read(descriptor, status.st_size - len(data))):
            data += block
        return data
    finally:
        os.close(descriptor)


def write_whole(file: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write by a temporary file and a rename, creating the folder; when it fails everything is as before.

    ``mode``: permissions of the file, in place of those of a new one.

    Raises:
        OSError: the file cannot be written.
    """
    temporary = file.with_name(_TEMPORARY.format(secrets.token_hex(8)))
    is_new_folder = not file.parent.exists()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as stream:
            if mode is not None:
                temporary.chmod(mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if is_new_folder:
            with suppress(OSError):
                file.parent.rmdir()
        raise
    sync_folder(file.parent)


def make_private_file(file: Path) -> None:
    """Make an empty file unless it is there, and let nobody but its owner read or write it.

    One that is there is not opened: closing it again would drop the locks that this process holds on it (POSIX), which
    SQLite relies on.

    Raises:
        OSError: it cannot be made.
    """
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    _keep_others_out(file, PRIVATE_FILE)


def make_private_folder(folder: Path) -> None:
    """Make a folder unless it is there, and let nobody but its owner look into it; for folders of our own alone.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    _keep_others_out(folder, PRIVATE_FOLDER)


def is_open_to_others(path: Path) -> bool:
    """Whether other users of the machine have any right to it; Windows does not say by the mode."""
    return os.name != "nt" and bool(path.stat().st_mode & _OTHERS)


def _keep_others_out(path: Path, mode: int) -> None:
    if is_open_to_others(path):
        with suppress(PermissionError):  # it belongs to another user, whose business it is
            path.chmod(mode)


def remove_leftovers(root: Path) -> None:
    """Delete the temporary files of writers that were killed; only while nobody writes."""
    for file in root.rglob(_TEMPORARY.format("*")):
        with suppress(OSError):
            file.unlink()


def _is_plain_name(name: str) -> bool:
    if name in {"", ".", ".."} or unreadable_characters(name) is not None:
        return False
    return os.name != "nt" or not {"\\", ":"} & set(name)


def _child(folder: str, name: str) -> tuple[str, bool]:
    """The entry of that name in any Unicode form, and whether it is a link; the name itself when there is none."""
    child = f"{folder}{os.sep}{name}"
    try:
        return child, stat.S_ISLNK(os.lstat(child).st_mode)
    except OSError:
        if name.isascii():
            return child, False
    with suppress(OSError), os.scandir(folder) as entries:
        forms = {
            entry.name: entry.is_symlink() for entry in entries if unicodedata.normalize("NFC", entry.name) == name
        }
        if forms:
            return f"{folder}{os.sep}{min(forms)}", forms[min(forms)]
    return child, False


def sync_folder(folder: Path) -> None:
    """Make a rename durable; Windows cannot open folders and does it by itself."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
