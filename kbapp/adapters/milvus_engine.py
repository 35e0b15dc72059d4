"""Who runs the vectors, and how a process reaches them: a Milvus Lite folder of our own, or a Milvus server.

One process owns the folder and serves it on a loopback port, which it tells in ``milvus.address``. The others attach to
that port, and the first one that finds the owner gone takes over. A process may open the folder several times; the last
``close()`` gives it up. Traps: see ``milvus_folder`` and ``milvus_opening``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from kbapp.adapters.disk import PRIVATE_FILE
from kbapp.adapters.milvus_address import (
    VectorStoreAddress,
    check_server_address,
    is_served,
    read_address,
    replace_text,
    write_address,
)
from kbapp.adapters.milvus_client import MilvusLimits, failure_reason, milvus_failures
from kbapp.adapters.milvus_folder import SERVED_FOLDERS, FolderRefused, folder_fingerprint, lock_holder
from kbapp.adapters.milvus_opening import serve_folder
from kbapp.domain.errors import IndexUnavailable

ADDRESS_FILE = "milvus.address"
FOLDER = "milvus.db"
LOCK_FILE = "milvus.lock"
STORE_FILE = "milvus.store"
DAMAGED_FOLDER = "milvus.damaged"


class EngineRole(StrEnum):
    """How this process reaches the vectors."""

    OWNER = "owner"
    ATTACHED = "attached"
    REMOTE = "remote"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Where the vectors are; ``owner_pid`` is the process that holds the folder, ``problem`` a sentence fit to show."""

    role: EngineRole
    uri: str | None
    owner_pid: int | None
    problem: str | None


class LocalEngine:
    """The Milvus Lite folder in ``state_dir``. Thread-safe; whoever made it closes it."""

    token = ""  # nosec B105 # the engine of one's own folder takes none
    store = ""
    address = ""

    def __init__(self, state_dir: Path, limits: MilvusLimits | None = None) -> None:
        self._state_dir = state_dir.resolve()
        self._folder = self._state_dir / FOLDER
        self._address_file = self._state_dir / ADDRESS_FILE
        self._limits = limits or MilvusLimits()
        self._writers = FileLock(self._state_dir / LOCK_FILE, mode=PRIVATE_FILE, poll_interval=0.01)
        self._lock = threading.RLock()
        self._place: EngineStatus | None = None

    def connect(self) -> str:
        """The address of the folder's server: our own, or that of the process that owns it.

        Raises:
            IndexUnavailable: the folder cannot be opened, or its owner does not answer.
        """
        with self._lock:
            if self._place is None:
                self._place = self._find_place(None)
            return str(self._place.uri)

    def reconnect(self, lost_uri: str) -> str:
        """Attach again or take over, unless another thread has done it."""
        with self._lock:
            if self._place and self._place.uri == lost_uri and self._place.role is EngineRole.ATTACHED:
                self._place = None  # stays so when nothing is found
                self._place = self._find_place(lost_uri)
            return self.connect()

    def is_lost(self, uri: str) -> bool:
        """Whether the server at ``uri`` is no longer the one of this folder."""
        with self._lock:
            if self._place is None or self._place.uri != uri:
                return True
            if self._place.role is EngineRole.OWNER:
                return False
            address = read_address(self._address_file)
            return address is None or address.uri != uri or not self._serves(address)

    def fingerprint(self) -> str:
        """Of the names, sizes and times of the collections' files."""
        return folder_fingerprint(self._folder)

    def status(self, problem: str | None = None) -> EngineStatus:
        """The last known place of the vectors, without asking anybody."""
        if self._place is None or problem is not None:
            return EngineStatus(EngineRole.UNAVAILABLE, None, self._holder(), problem)
        return self._place

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """One writer at a time among all processes and threads: those of Milvus Lite do not lock.

        Raises:
            IndexUnavailable: another process keeps on writing, or the state folder cannot be written.
        """
        with _locked(self._writers, self._limits.write_seconds):
            yield

    def close(self) -> None:
        """Give up the folder; the last user in this process removes the address and ends the server."""
        with self._lock:
            place, self._place = self._place, None
            if place is None or place.role is not EngineRole.OWNER:
                return
            try:
                with _locked(self._writers, self._limits.lock_seconds):
                    self._leave(str(place.uri))
            except IndexUnavailable:  # a writer of another process does not end; it will find us gone
                self._leave(str(place.uri))

    def _leave(self, uri: str) -> None:
        address = read_address(self._address_file)
        if address and address.uri == uri and SERVED_FOLDERS.users(self._folder) == 1:
            with suppress(OSError):
                self._address_file.unlink()
        SERVED_FOLDERS.leave(self._folder)

    def _find_place(self, lost_uri: str | None) -> EngineStatus:
        """Attach without waiting for anybody; else open the folder, unless another has done it in the meantime."""
        told = read_address(self._address_file)
        place = self._joined() or self._attached(None if told and told.uri == lost_uri else told)
        if place:
            return place
        with _locked(self._writers, self._limits.lock_seconds):
            address = read_address(self._address_file)
            return self._joined() or self._attached(None if address == told else address) or self._opened()

    def _joined(self) -> EngineStatus | None:
        uri = SERVED_FOLDERS.join(self._folder)
        return EngineStatus(EngineRole.OWNER, uri, os.getpid(), None) if uri else None

    def _attached(self, address: VectorStoreAddress | None) -> EngineStatus | None:
        if address is None or not self._serves(address):
            return None
        return EngineStatus(EngineRole.ATTACHED, address.uri, address.pid, None)

    def _opened(self) -> EngineStatus:
        failures: tuple[type[Exception], ...] = (OSError, FolderRefused, *milvus_failures())
        try:
            uri, nonce = serve_folder(self._folder, self._state_dir / DAMAGED_FOLDER, self._limits.write_seconds)
        except failures as error:
            raise IndexUnavailable(self._refusal(error)) from error
        try:
            write_address(self._address_file, VectorStoreAddress(uri, os.getpid(), nonce, str(self._folder)))
        except OSError as error:
            SERVED_FOLDERS.leave(self._folder)
            raise IndexUnavailable(self._refusal(error)) from error
        return EngineStatus(EngineRole.OWNER, uri, os.getpid(), None)

    def _serves(self, address: VectorStoreAddress) -> bool:
        return address.folder == str(self._folder) and is_served(address, self._limits.connect_seconds)

    def _refusal(self, error: Exception) -> str:
        if not (isinstance(error, FolderRefused) and error.is_locked):
            return f"The vector index {self._folder} cannot be opened: {failure_reason(error)}."
        holder = self._holder()
        who = f"process {holder}" if holder else "another process"
        return f"The vector index {self._folder} is held by {who}, which does not answer: end it, then try again."

    def _holder(self) -> int | None:
        address = read_address(self._address_file)
        return lock_holder(self._folder) or (address.pid if address else None)


class RemoteEngine:
    """A Milvus server; ``store`` keeps the knowledge bases apart that share one. Thread-safe."""

    def __init__(self, state_dir: Path, uri: str, token: str, limits: MilvusLimits | None = None) -> None:
        """Take the address; nothing is asked yet.

        Raises:
            UserError: it is no address of a server.
        """
        check_server_address(uri)
        self.token = token
        self.address = uri
        self._limits = limits or MilvusLimits()
        self._store_file = state_dir.resolve() / STORE_FILE
        self._writers = FileLock(state_dir.resolve() / LOCK_FILE, mode=PRIVATE_FILE, poll_interval=0.01)

    @property
    def store(self) -> str:
        """The id of this state folder, made on the first call."""
        with self.exclusive():
            if not self._store_file.exists():
                replace_text(self._store_file, uuid4().hex[:12])
            return self._store_file.read_text(encoding="ascii").strip()

    def connect(self) -> str:
        """The address as it was set."""
        return self.address

    def reconnect(self, lost_uri: str) -> str:
        """The same address."""
        return lost_uri

    def is_lost(self, uri: str) -> bool:
        """Never: pymilvus connects again by itself, and there is no other place."""
        return uri != self.address

    def fingerprint(self) -> str:
        """A server tells nothing of the kind."""
        return ""

    def status(self, problem: str | None = None) -> EngineStatus:
        """The address, or what is wrong with it."""
        role = EngineRole.REMOTE if problem is None else EngineRole.UNAVAILABLE
        return EngineStatus(role, self.address, None, problem)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """One writer at a time among the processes of this state folder."""
        with _locked(self._writers, self._limits.write_seconds):
            yield

    def close(self) -> None:
        """Nothing to give up."""


@contextmanager
def _locked(lock: FileLock, seconds: float) -> Iterator[None]:
    folder = Path(lock.lock_file).parent
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=seconds)
    except Timeout as error:
        raise IndexUnavailable(f"Another process keeps the vector index in {folder} busy: try again later.") from error
    except OSError as error:
        raise IndexUnavailable(f"The folder {folder} cannot be written: {error}.") from error
    try:
        yield
    finally:
        lock.release()
