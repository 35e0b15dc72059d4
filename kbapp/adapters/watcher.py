"""Changes under a folder into calls: something happened that can matter to the documents (S2).

Over watchdog, with its traps (7.1): it leaves subfolders unwatched without a word when the system has no watches left;
its reader dies when a folder ends that was moved out while its name was taken again; it warns from that same thread, so
that a warning which counts as an error kills it.
"""

from __future__ import annotations

import errno
import logging
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePath

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserverVFS

from kbapp.domain.document_paths import is_document_name
from kbapp.domain.synonyms import SYNONYMS_FILE

POLLING_SECONDS = 1.0

# Neither opened nor closed without a write: reading the documents must not look like a change of them.
WATCHED_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_WAYS_OUT = {
    errno.ENOSPC: "the system has no inotify watches left: raise fs.inotify.max_user_watches",
    errno.EMFILE: "the system has no inotify instances left: raise fs.inotify.max_user_instances",
}

_logger = logging.getLogger(__name__)

OpenObserver = Callable[[], BaseObserver]


def open_polling(seconds: float = POLLING_SECONDS) -> BaseObserver:
    """An observer that compares listings; ``lstat`` keeps it from following a link round in a circle."""
    return PollingObserverVFS(stat=os.lstat, listdir=os.scandir, polling_interval=seconds)


class FolderWatcher:
    """Calls back, from a thread of its own, when a document or a folder came, changed, moved or went.

    For one caller's thread; the properties may be read from any. The folder may be deleted and come back. A linked
    folder is seen where it really lies; one that lies in a hidden folder is left to the periodic reconcile.
    """

    def __init__(
        self,
        root: Path,
        on_change: Callable[[], None],
        *,
        open_events: OpenObserver = Observer,
        open_polling: OpenObserver = open_polling,
    ) -> None:
        self._root = Path(os.path.realpath(root))
        self._on_change = on_change
        self._open_events = open_events
        self._open_polling = open_polling
        self._observer: BaseObserver | None = None
        self._is_stale = False
        self.is_polling = False
        self.problem: str | None = None

    def keep(self) -> None:
        """Watch, or go on watching; what changed before this returned may not be called back."""
        if self._observer is None or self._is_stale or not _is_alive(self._observer):
            self.begin_anew()

    def begin_anew(self) -> None:
        """Watch as if for the first time: by events, else by polling, else not at all, and ``problem`` says why."""
        self.stop()
        self._is_stale = False
        former, self.problem = self.problem, None
        try:
            self.is_polling = False
            self._observer = self._start(self._open_events)
        except OSError as error:
            self.problem = f"{_reason(error)}; until then {self._root.name}/ is looked through every second"
            self._poll()
        if self.problem and self.problem != former:
            _logger.warning("%s", self.problem)

    def stop(self) -> None:
        """Call back no more."""
        observer, self._observer = self._observer, None
        if observer is None:
            return
        try:
            observer.stop()
        except (KeyError, OSError) as error:  # it stumbles over a folder moved out; its threads end with the process
            _logger.debug("a watchdog observer is abandoned: %r", error)
            return
        observer.join()

    def _poll(self) -> None:
        self.is_polling = True
        try:
            self._observer = self._start(self._open_polling)
        except OSError as error:
            self.problem = f"{self._root.name}/ cannot be watched ({error.strerror}): make it readable"

    def _start(self, open_observer: OpenObserver) -> BaseObserver:
        """Watch the tree, and in the folder above it the root's own coming and going.

        Raises:
            OSError: this kind of watching cannot be had.
        """
        _keep_quiet()
        observer = open_observer()
        handler = _Handler(self._notice)
        try:
            observer.start()
            with suppress(FileNotFoundError, NotADirectoryError):
                # Last, since this one fails loudly where the watches ran out below the root.
                observer.schedule(handler, str(self._root), recursive=True, event_filter=WATCHED_EVENTS)
            with suppress(FileNotFoundError, NotADirectoryError):
                observer.schedule(handler, str(self._root.parent), recursive=False, event_filter=WATCHED_EVENTS)
        except BaseException:
            observer.stop()
            raise
        return observer

    def _notice(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        inside = [PurePath(path).relative_to(self._root) for path in paths if PurePath(path).is_relative_to(self._root)]
        if any(not path.parts for path in inside) or (inside and isinstance(event, DirDeletedEvent)):
            self._is_stale = True  # a folder that left is still watched under its former name
        if any(_can_matter(path, event) for path in inside):
            self._on_change()


class _Handler(FileSystemEventHandler):
    def __init__(self, notice: Callable[[FileSystemEvent], None]) -> None:
        self._notice = notice

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._notice(event)


def _can_matter(path: PurePath, event: FileSystemEvent) -> bool:
    """Whether an entry of this path, relative to the root, is read, or documents may be found below it."""
    if any(part.startswith(".") for part in path.parts):
        return False
    if event.is_directory or not path.parts or is_document_name(path.name) or path.parts == (SYNONYMS_FILE,):
        return True
    # Windows does not tell what a thing was that is deleted.
    return isinstance(event, FileDeletedEvent) and not path.suffix


def _is_alive(observer: BaseObserver) -> bool:
    emitters = list(observer.emitters)
    return observer.is_alive() and bool(emitters) and all(emitter.is_alive() for emitter in emitters)


def _reason(error: OSError) -> str:
    return _WAYS_OUT.get(error.errno or 0) or f"the system reports no changes ({error.strerror or error})"


def _keep_quiet() -> None:
    """Keep watchdog's warnings of folders that it sees twice, and what it logs at its end, from people and tests."""
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
    library = logging.getLogger("watchdog")
    if library.level == logging.NOTSET:
        library.setLevel(logging.CRITICAL)
