"""Backup archives: gzip-compressed tar files, written with a manifest at the end, and read as if by an enemy.

``tarfile`` trusts what it reads: it takes a broken header for the end, follows sizes back and forth, and holds a whole
extended header in memory. So it reads through a stream that allows none of that, its ``extract`` is never called, and
what no export writes is refused before a byte of it is kept.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Self

from kbapp.domain.backup import (
    ALWAYS_ALLOWED_BYTES,
    MANIFEST_MEMBER,
    MAX_MANIFEST_BYTES,
    MAX_MEMBERS,
    MAX_RATIO,
    MAX_SETTINGS_BYTES,
    SETTINGS_MEMBER,
    Manifest,
    Member,
    check_member_name,
    compare_members,
    parse_manifest,
)
from kbapp.domain.errors import UserError

_BLOCK_BYTES = 256 * 1024
_LONGEST_READ_BYTES = 1024 * 1024  # no header of ours is longer
_COMPRESSION = 6
_SMALL_MEMBERS = {MANIFEST_MEMBER: MAX_MANIFEST_BYTES, SETTINGS_MEMBER: MAX_SETTINGS_BYTES}

Take = Callable[[str, Iterator[bytes]], None]
"""Told of each member with its bytes in blocks; takes all of them or none."""


class ArchiveWriter:
    """Members written to an open file, one after the other; use it in a ``with`` block."""

    def __init__(self, stream: BinaryIO) -> None:
        self._gzip = gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=_COMPRESSION)
        self._tar = tarfile.TarFile(fileobj=self._gzip, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8")
        self.members: list[Member] = []

    def add(self, name: str, data: bytes, mtime_ns: int = 0) -> None:
        """Write bytes as a member."""
        self._write(name, io.BytesIO(data), len(data), mtime_ns)
        self.members.append(Member(name, len(data), hashlib.sha256(data).hexdigest(), mtime_ns))

    def add_file(self, name: str, file: Path) -> None:
        """Write a file that nobody changes as a member."""
        with file.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            size = stream.seek(0, io.SEEK_END)
            stream.seek(0)
            self._write(name, stream, size, 0)
        self.members.append(Member(name, size, sha256))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, and end the archive."""
        data = manifest.to_bytes()
        self._write(MANIFEST_MEMBER, io.BytesIO(data), len(data), 0)
        self._tar.close()
        self._gzip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError, ValueError):  # it writes its end, and may be here because the disk is full
            self._gzip.close()

    def _write(self, name: str, stream: BinaryIO, size: int, mtime_ns: int) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, mtime_ns // 1_000_000_000
        self._tar.addfile(member, stream)


def read_archive(file: Path, take: Take | None = None) -> Manifest:
    """The manifest of an archive that is whole: all of it is read and compared.

    What ``take`` is told has not been compared yet.

    Raises:
        UserError: the file cannot be read, is no archive, is damaged, or holds what no export writes.
    """
    with _opened(file) as (tar, stream):
        found: dict[str, Member] = {}
        manifest = None
        while (member := tar.next()) is not None:
            tar.members.clear()  # type: ignore[attr-defined]  # else all headers are kept in memory
            _check_header(member, found, is_over=manifest is not None)
            data = _Blocks(tar, member)
            if member.name == MANIFEST_MEMBER:
                manifest = parse_manifest(b"".join(data))
                continue
            if take:
                take(member.name, iter(data))
            for _ in data:
                pass
            found[member.name] = data.member
        if manifest is None:
            raise UserError(f"{MANIFEST_MEMBER} is missing: it is cut off, or no export of kbapp")
        _read_rest(stream)
        compare_members(manifest.members, found)
        return manifest


class _Blocks:
    """The bytes of a member, hashed as they go by; can be iterated again and goes on then."""

    def __init__(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._name = member.name
        self._stream: IO[bytes] | None = tar.extractfile(member)
        self._hash = hashlib.sha256()
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        while self._stream and (block := self._stream.read(_BLOCK_BYTES)):
            self._hash.update(block)
            self._size += len(block)
            yield block

    @property
    def member(self) -> Member:
        """What was read so far."""
        return Member(self._name, self._size, self._hash.hexdigest())


class _Forward(io.RawIOBase):
    """A compressed file read from front to end, in small pieces, up to a size that is plausible for it."""

    def __init__(self, stream: gzip.GzipFile, compressed_bytes: int) -> None:
        self._stream = stream
        self._limit = max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * compressed_bytes)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LONGEST_READ_BYTES:
            raise UserError("it holds a header that no export writes")
        data = self._stream.read(size)
        if self._stream.tell() > self._limit:
            raise UserError(f"it unpacks to more than {MAX_RATIO} times its size: no export does")
        return data

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Forwards by reading, so that the limit holds."""
        if whence != io.SEEK_SET or offset < self.tell():
            raise UserError("it holds a header that leads backwards")
        while (left := offset - self.tell()) and self.read(min(left, _LONGEST_READ_BYTES)):
            pass
        return self.tell()


@contextmanager
def _opened(file: Path) -> Iterator[tuple[tarfile.TarFile, _Forward]]:
    try:
        if not file.is_file():
            raise UserError("no such file: name the archive that `kbapp export` made")
        with file.open("rb") as raw, gzip.GzipFile(fileobj=raw) as unpacked:
            stream = _Forward(unpacked, file.stat().st_size)
            with closing(tarfile.TarFile(fileobj=stream, mode="r", encoding="utf-8")) as tar:
                yield tar, stream
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, ValueError) as error:
        raise UserError(f"{file}: it is damaged or no .tar.gz ({error}), and nothing has changed") from error
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror or error}): check its permissions") from error


def _check_header(member: tarfile.TarInfo, found: dict[str, Member], *, is_over: bool) -> None:
    name = member.name
    if is_over:
        raise UserError(f"something follows {MANIFEST_MEMBER}")
    check_member_name(name)
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise UserError(f"{name} is a link, a folder or a device: an export holds files only")
    if name in found:
        raise UserError(f"{name} is there twice")
    if len(found) >= MAX_MEMBERS:
        raise UserError(f"it holds more than {MAX_MEMBERS:,} files")
    if member.size > _SMALL_MEMBERS.get(name, member.size):
        raise UserError(f"{name} has {member.size:,} bytes")


def _read_rest(stream: _Forward) -> None:
    """To the end, where the checksum of gzip is; a tar file ends with zeros."""
    while block := stream.read(_BLOCK_BYTES):
        if block.strip(b"\0"):
            raise UserError("something follows the end of the archive")
