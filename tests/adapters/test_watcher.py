import errno
import itertools
import logging
import os
import shutil
import threading
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.folder_scan import scan_folder
from kbapp.adapters.watcher import WATCHED_EVENTS, FolderWatcher, OpenObserver, open_polling
from tests.waiting import wait_until

DEADLINE_SECONDS = 20.0
Act = Callable[[Path], object]


class Recorder(FileSystemEventHandler):
    """The paths of all events that the watcher's observer has dispatched."""

    def __init__(self) -> None:
        self.paths: set[str] = set()

    def on_any_event(self, event: FileSystemEvent) -> None:
        self.paths |= {os.fsdecode(event.src_path), os.fsdecode(event.dest_path)}  # polling goes by inodes, used again


class Watched:
    """A folder that is watched; tells what is called back without waiting for what is not."""

    def __init__(self, root: Path, open_observer: OpenObserver) -> None:
        self.root = root
        self.calls = 0
        self.observers: list[BaseObserver] = []
        self._open_observer = open_observer
        self._numbers = itertools.count()
        self.watcher = FolderWatcher(root, self._call, open_events=self._open)
        self.watcher.keep()

    def signals(self, act: Act) -> bool:
        """Whether the act is called back. A hidden file, which is not, is written after it: events come in order."""
        recorder = Recorder()
        self.observers[-1].schedule(recorder, str(self.root), recursive=True, event_filter=WATCHED_EVENTS)
        before = self.calls
        act(self.root)
        for _ in range(2):  # polling has an order from one look to the next only
            marker = write(self.root, f".marker-{next(self._numbers)}")
            wait_until(lambda marker=marker: str(marker) in recorder.paths, DEADLINE_SECONDS)  # type: ignore[misc]
        return self.calls > before

    def _open(self) -> BaseObserver:
        self.observers.append(self._open_observer())
        return self.observers[-1]

    def _call(self) -> None:
        self.calls += 1


def write(root: Path, path: str, text: str = "文本") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def save_by_rename(root: Path) -> None:
    write(root, "api/~x.swp", "新的").replace(root / "api/x.md")


def copy_in(root: Path) -> None:
    write(root.parent, "outside/deep/new.md")
    (root.parent / "outside").rename(root / "inside")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    for path in ("api/x.md", "guides/deep/y.md", "api/notes.txt", ".git/HEAD", "api/.obsidian/z.md"):
        write(root, path)
    write(tmp_path, "elsewhere.md")
    return root


@pytest.fixture(params=[Observer, partial(open_polling, 0.1)], ids=["events", "polling"])
def watched(root: Path, request: pytest.FixtureRequest) -> Iterator[Watched]:
    watched = Watched(root, request.param)
    yield watched
    watched.watcher.stop()


MATTERING: dict[str, Act] = {
    "create": lambda root: write(root, "api/new.md"),
    "create in capitals": lambda root: write(root, "api/NEW.MD"),
    "create in a new folder": lambda root: write(root, "new/deep/new.md"),
    "create with a decomposed name": lambda root: write(root, unicodedata.normalize("NFD", "Überblick が.md")),
    "new folder": lambda root: (root / "empty").mkdir(),
    "edit": lambda root: write(root, "api/x.md", "anderes, länger"),
    "save by rename": save_by_rename,
    "save by ourselves": lambda root: DocumentFiles(root).save("api/x.md", b"other"),
    "move": lambda root: (root / "api/x.md").rename(root / "guides/x.md"),
    "move out": lambda root: (root / "api/x.md").rename(root.parent / "x.md"),
    "move in": lambda root: (root.parent / "elsewhere.md").rename(root / "api/elsewhere.md"),
    "name that ends in .md now": lambda root: (root / "api/notes.txt").rename(root / "api/notes.md"),
    "rename of a folder": lambda root: (root / "guides").rename(root / "handbooks"),
    "folder moved out": lambda root: (root / "guides").rename(root.parent / "guides"),
    "folder moved in": copy_in,
    "delete": lambda root: (root / "api/x.md").unlink(),
    "synonyms": lambda root: write(root, "synonyms.yaml"),
    "delete of a folder": lambda root: shutil.rmtree(root / "guides"),
}

IDLE: dict[str, Act] = {
    "read": lambda root: [(root / path).read_bytes() for path in scan_folder(root).paths],
    "text file": lambda root: write(root, "api/notes.txt", "other"),
    "text file deleted": lambda root: (root / "api/notes.txt").unlink(),
    "synonyms elsewhere": lambda root: write(root, "api/synonyms.yaml"),
    "hidden file": lambda root: write(root, "api/.x.md.swp"),
    "hidden folder": lambda root: write(root, ".git/objects/ab/c.md"),
    "file in a hidden folder": lambda root: write(root, "api/.obsidian/z.md", "other"),
    "our own temporary file": lambda root: write(root, "api/.kbapp-0123.tmp").unlink(),
    "neighbour of the folder": lambda root: write(root.parent, "elsewhere.md", "other"),
    "folder beside": lambda root: (root.parent / "knowledge_base_2").mkdir(),
}


@pytest.mark.parametrize("act", MATTERING.values(), ids=MATTERING.keys())
def test_s2_what_can_matter_is_called_back(watched: Watched, act: Act) -> None:
    assert watched.signals(act)


@pytest.mark.parametrize("act", IDLE.values(), ids=IDLE.keys())
def test_s2_what_cannot_matter_is_not_called_back(watched: Watched, act: Act) -> None:
    assert not watched.signals(act)


def test_s2_the_folder_may_be_deleted_and_come_back(watched: Watched) -> None:
    for act in (lambda: shutil.rmtree(watched.root), watched.root.mkdir, lambda: write(watched.root, "api/x.md")):
        before = watched.calls
        act()
        wait_until(lambda before=before: watched.calls > before, DEADLINE_SECONDS)  # type: ignore[misc]
        watched.watcher.keep()


def test_s2_the_folder_may_be_replaced_by_another(watched: Watched) -> None:
    watched.root.rename(watched.root.parent / "former")
    watched.root.mkdir()
    wait_until(lambda: watched.calls > 0, DEADLINE_SECONDS)
    watched.watcher.keep()
    assert watched.signals(lambda root: write(root, "new.md"))
    assert not watched.signals(lambda root: write(root.parent, "former/api/x.md", "other"))


def test_s2_a_folder_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "later", Observer)
    (tmp_path / "later").mkdir()
    wait_until(lambda: watched.calls > 0, DEADLINE_SECONDS)
    watched.watcher.keep()
    assert watched.signals(lambda root: write(root, "x.md"))
    watched.watcher.stop()


def test_s2_a_folder_moved_out_whose_name_was_taken_again_ends_without_harm(root: Path) -> None:
    # watchdog 7.1.0 goes on watching the former folder under its name, and dies when it is deleted after the new one
    watched = Watched(root, Observer)
    trash = root.parent / "trash"
    for act in (
        lambda root: (root / "guides").rename(trash),
        lambda root: (root / "guides").mkdir(),
        lambda root: (root / "guides").rmdir(),
        lambda root: shutil.rmtree(trash),
        lambda root: write(root, "new.md"),
    ):
        signalled = watched.signals(act)
        watched.watcher.keep()
    assert signalled
    watched.watcher.stop()


def test_s2_many_folders_at_once_do_not_end_the_watch(root: Path) -> None:
    # watchdog warns of folders that it comes upon twice, from a thread that a warning taken for an error would end
    watched = Watched(root, Observer)
    assert watched.signals(lambda root: [write(root, f"many{number}/a/b/c/x.md") for number in range(300)])
    assert watched.signals(lambda root: write(root, "many299/a/b/c/y.md"))
    watched.watcher.stop()


def refuse(number: int) -> OpenObserver:
    def open_observer() -> BaseObserver:
        raise OSError(number, os.strerror(number))

    return open_observer


class ExhaustedObserver(Observer):  # type: ignore[misc, valid-type]
    """Watches run out below the root: watchdog tells of the next one only."""

    def schedule(self, *arguments: object, recursive: bool, **options: object) -> object:
        if not recursive:
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        return super().schedule(*arguments, recursive=recursive, **options)


@pytest.mark.parametrize(
    ("open_events", "way_out"),
    [
        (refuse(errno.ENOSPC), "fs.inotify.max_user_watches"),
        (refuse(errno.EMFILE), "fs.inotify.max_user_instances"),
        (refuse(errno.ENOSYS), "every second"),
        (ExhaustedObserver, "fs.inotify.max_user_watches"),
    ],
)
def test_s2_without_events_it_polls_and_says_so_once(
    root: Path, caplog: pytest.LogCaptureFixture, open_events: OpenObserver, way_out: str
) -> None:
    called = threading.Event()
    watcher = FolderWatcher(root, called.set, open_events=open_events)
    with caplog.at_level(logging.WARNING, "kbapp"):
        watcher.keep()
        watcher.begin_anew()
    assert watcher.is_polling
    assert way_out in str(watcher.problem)
    assert [record.getMessage() for record in caplog.records] == [watcher.problem]
    write(root, "new.md")
    assert called.wait(DEADLINE_SECONDS)
    watcher.stop()


def test_s2_a_folder_that_cannot_be_watched_at_all_is_tried_again(root: Path) -> None:
    refusals = [refuse(errno.ENOSPC), refuse(errno.EACCES)]
    watcher = FolderWatcher(
        root,
        lambda: None,
        open_events=lambda: (refusals.pop(0) if refusals else Observer)(),
        open_polling=lambda: (refusals.pop(0) if refusals else open_polling)(),
    )
    watcher.keep()
    assert "make it readable" in str(watcher.problem)
    watcher.keep()
    assert (watcher.problem, watcher.is_polling) == (None, False)
    watcher.stop()


def test_a_link_that_leads_round_in_a_circle_does_not_lead_polling_astray(root: Path) -> None:
    for name in ("a", "b", "c"):
        (root / "api" / name).symlink_to(root, target_is_directory=True)
    watched = Watched(root, partial(open_polling, 0.1))
    assert watched.signals(lambda root: write(root, "new.md"))
    watched.watcher.stop()


def test_a_stopped_watcher_calls_back_no_more_and_can_begin_anew(root: Path) -> None:
    watched = Watched(root, Observer)
    watched.watcher.stop()
    watched.watcher.stop()
    write(root, "new.md")
    watched.watcher.keep()
    assert watched.calls == 0
    assert watched.signals(lambda root: write(root, "newer.md"))
    watched.watcher.stop()
