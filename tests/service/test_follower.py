import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.errors import IndexBusy, IndexUnavailable, KbError, UserError
from kbapp.service.follower import (
    MAX_WAIT_SECONDS,
    Follower,
    FollowMode,
    FollowOptions,
    FollowStatus,
    Pending,
    due_at,
)
from kbapp.service.index_report import ChangeKind, DocumentChange, IndexProgress, IndexReport, IndexStage, OnProgress
from tests.knowledge import document, open_for_test, write_documents
from tests.waiting import wait_until

HOUR = 3600.0


def report(*kinds: ChangeKind) -> IndexReport:
    changes = tuple(DocumentChange("api/x.md", kind) for kind in kinds)
    return IndexReport(1, 1, 0, 1, 0, 0.0, changes, (), (), None)


class FakeBase:
    """Answers each refresh with the next outcome, then with reports of nothing."""

    def __init__(self, *outcomes: IndexReport | Exception) -> None:
        self.outcomes = list(outcomes)
        self.refreshes = self.follows = self.warm_ups = self.calibrations = 0
        self.gate = threading.Event()
        self.gate.set()

    def refresh(self, on_progress: OnProgress | None = None) -> IndexReport:
        self.refreshes += 1
        self.gate.wait()
        outcome = self.outcomes.pop(0) if self.outcomes else report()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def follow_keywords(self) -> None:
        self.follows += 1

    def calibrate_levels(self, on_progress: OnProgress | None = None) -> None:
        self.calibrations += 1

    def warm_up(self) -> None:
        self.warm_ups += 1
        raise IndexUnavailable("the model cannot be reached")


class FakeWatch:
    def __init__(self) -> None:
        self.is_polling, self.problem = False, None
        self.keeps = self.begins = self.stops = 0

    def keep(self) -> None:
        self.keeps += 1

    def begin_anew(self) -> None:
        self.begins += 1

    def stop(self) -> None:
        self.stops += 1


@contextmanager
def following(
    base: FakeBase, watch: FakeWatch | None = None, *, debounce_seconds: float = 0.01, reconcile_seconds: float = HOUR
) -> Iterator[Follower]:
    watch = watch or FakeWatch()
    follower = Follower(base, lambda _: watch, FollowOptions(debounce_seconds, reconcile_seconds))
    follower.start()
    yield follower
    base.gate.set()
    follower.stop()
    assert watch.stops == 1


def scans(follower: Follower, count: int) -> Callable[[], bool]:
    return lambda: follower.status.scans >= count


@pytest.mark.parametrize(
    ("pending", "due"),
    [
        (None, 100.0),
        (Pending(10.0, 10.0), 10.3),
        (Pending(10.0, 10.5), 10.8),
        (Pending(10.0, 10.9), 11.0),
        (Pending(99.9, 99.9), 100.0),
    ],
)
def test_s2_a_reconcile_is_due_when_it_is_quiet_or_has_been_put_off_for_a_second(
    pending: Pending | None, due: float
) -> None:
    assert due_at(pending, 100.0, FollowOptions(0.3, 60.0)) == pytest.approx(due)


def test_s2_a_long_debounce_is_kept() -> None:
    assert due_at(Pending(0.0, 0.0), HOUR, FollowOptions(5.0, HOUR)) == 5.0


@given(first=st.floats(0, 100), more=st.floats(0, 100), debounce=st.floats(0, 60), next_scan=st.floats(0, 200))
def test_s2_no_burst_puts_a_reconcile_off_for_ever(
    first: float, more: float, debounce: float, next_scan: float
) -> None:
    due = due_at(Pending(first, first + more), next_scan, FollowOptions(debounce, 60.0))
    assert due <= min(next_scan, first + max(MAX_WAIT_SECONDS, debounce))


def test_s1_the_first_reconcile_does_not_block_the_start() -> None:
    base = FakeBase(report(ChangeKind.ADDED))
    base.gate.clear()
    with following(base) as follower:
        assert follower.status == FollowStatus(mode=FollowMode.EVENTS)
        base.gate.set()
        wait_until(scans(follower, 1))
        assert follower.status.changes == (DocumentChange("api/x.md", ChangeKind.ADDED),)
        assert follower.status.last_scan is not None


def test_s2_a_burst_is_one_reconcile_and_an_event_during_one_is_another() -> None:
    base = FakeBase()
    base.gate.clear()
    with following(base) as follower:
        wait_until(lambda: base.refreshes == 1)
        for _ in range(1000):
            follower.notice()
        base.gate.set()
        wait_until(scans(follower, 2))
        follower.notice()
        wait_until(scans(follower, 3))
        assert base.refreshes == 3


def test_s2_events_that_never_end_put_a_reconcile_off_for_a_while_only() -> None:
    base = FakeBase()
    with following(base, debounce_seconds=0.5) as follower:
        wait_until(scans(follower, 1))
        wait_until(lambda: follower.notice() or follower.status.scans >= 2)  # type: ignore[func-returns-value]


def test_s2_a_periodic_reconcile_needs_no_event() -> None:
    base = FakeBase()
    with following(base, reconcile_seconds=0.01) as follower:
        wait_until(scans(follower, 5))


def test_s2_a_change_without_an_event_begins_the_watch_anew_and_looks_again() -> None:
    found = report(ChangeKind.UPDATED)
    base, watch = FakeBase(report(ChangeKind.ADDED), report(), found, found), FakeWatch()
    with following(base, watch, reconcile_seconds=0.05) as follower:
        wait_until(scans(follower, 6))
        assert watch.begins == 1  # the fourth looked at what the third missed


def test_s2_what_fails_time_and_again_was_not_missed() -> None:
    base, watch = FakeBase(*[report(ChangeKind.FAILED)] * 5), FakeWatch()
    with following(base, watch, reconcile_seconds=0.01) as follower:
        wait_until(scans(follower, 5))
        assert watch.begins == 0


def test_s2_the_watch_is_kept_before_every_reconcile() -> None:
    base, watch = FakeBase(), FakeWatch()
    base.gate.clear()
    with following(base, watch):
        wait_until(lambda: base.refreshes == 1)
        assert watch.keeps == 1


def test_s5_while_another_process_indexes_l0_follows_it_and_the_reconcile_is_tried_again() -> None:
    busy = IndexBusy("process 1 is indexing: try again when it has finished")
    base, watch = FakeBase(report(), *[busy] * 1000), FakeWatch()
    with following(base, watch) as follower:
        wait_until(scans(follower, 1))
        follower.notice()
        wait_until(lambda: base.follows >= 2)
        assert follower.status.problem == str(busy)
        base.outcomes[:] = [report(ChangeKind.ADDED)]
        wait_until(scans(follower, 2))
        wait_until(lambda: follower.status.problem is None)
        assert watch.begins == 0


def test_what_the_first_search_needs_is_loaded_after_the_first_scan_and_once() -> None:
    base = FakeBase(report(), report(), report())
    with following(base, FakeWatch(), reconcile_seconds=0.01) as follower:
        wait_until(scans(follower, 3))
    assert base.warm_ups == 1
    assert follower.status.problem is None


def test_s5_an_upload_of_this_process_is_no_problem_of_the_following() -> None:
    own = IndexBusy("process 1 is indexing: try again when it has finished", by_this_process=True)
    base = FakeBase(report(), *[own] * 1000)
    with following(base, FakeWatch()) as follower:
        wait_until(scans(follower, 1))
        follower.notice()
        wait_until(lambda: base.follows >= 2)
        assert follower.status.problem is None


@pytest.mark.parametrize(
    "error", [UserError("the folder is gone"), IndexUnavailable("no space"), ZeroDivisionError("x")]
)
def test_s2_no_error_ends_the_following_and_each_is_logged_once(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    base = FakeBase(error, error, report(), error)
    with following(base, reconcile_seconds=HOUR) as follower:
        wait_until(lambda: follower.status.problem is not None)
        assert str(error) in str(follower.status.problem)
        follower.notice()
        wait_until(lambda: base.refreshes == 2)
        follower.notice()
        wait_until(lambda: follower.status.problem is None)
        follower.notice()
        wait_until(lambda: follower.status.problem is not None)
    logged = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(logged) == 2  # once more after it had gone well
    assert all(bool(record.exc_info) is not isinstance(error, KbError) for record in logged)


def test_s2_polling_and_its_reason_are_shown() -> None:
    watch = FakeWatch()
    watch.is_polling, watch.problem = True, "no watches left"
    with following(FakeBase(UserError("the folder is gone")), watch) as follower:
        wait_until(lambda: follower.status.problem == "the folder is gone; no watches left")
        assert follower.status.mode is FollowMode.POLLING


class EmbeddingBase(FakeBase):
    def refresh(self, on_progress: OnProgress | None = None) -> IndexReport:
        assert on_progress is not None
        while True:
            on_progress(IndexProgress(1, 2, "api/x.md"))


def test_s2_progress_is_shown_and_a_stop_does_not_wait_for_the_rest() -> None:
    with following(EmbeddingBase()) as follower:
        wait_until(lambda: follower.status.indexing == IndexProgress(1, 2, "api/x.md"))


class CalibratingBase(FakeBase):
    """Calibrates without end the first time."""

    def calibrate_levels(self, on_progress: OnProgress | None = None) -> None:
        super().calibrate_levels()
        assert on_progress is not None
        while self.calibrations == 1:
            on_progress(IndexProgress(1, 2, "", IndexStage.LEVELS))


def test_g5_a_change_of_the_files_interrupts_the_calibration_of_levels_which_is_tried_again() -> None:
    base = CalibratingBase()
    with following(base) as follower:
        wait_until(lambda: follower.status.indexing == IndexProgress(1, 2, "", IndexStage.LEVELS))
        follower.notice()
        wait_until(lambda: (base.refreshes, base.calibrations) == (2, 2))
        wait_until(lambda: follower.status.indexing is None)
        assert follower.status.problem is None


def test_s2_a_knowledge_base_follows_until_it_is_closed(tmp_path: Path) -> None:
    root = tmp_path / "knowledge_base"
    kb = open_for_test(tmp_path, watch__debounce_seconds="0.01")
    assert kb.following.mode is FollowMode.OFF
    kb.follow()
    kb.follow()
    assert sum(thread.name == "kbapp-follower" for thread in threading.enumerate()) == 1
    write_documents(root, {"api/x.md": document("支付网关", "超时", "正文。")})
    wait_until(lambda: kb.lookup("超时").primary is not None)
    (root / "api/x.md").unlink()
    wait_until(lambda: kb.documents() == [])
    assert kb.following.mode is FollowMode.EVENTS
    kb.close()
    assert kb.following.mode is FollowMode.OFF
    assert "kbapp-follower" not in {thread.name for thread in threading.enumerate()}


def test_s2_the_folder_of_the_documents_may_be_deleted_and_come_back(tmp_path: Path) -> None:
    root = tmp_path / "knowledge_base"
    write_documents(root, {"api/x.md": document("支付网关", "超时", "正文。")})
    with open_for_test(tmp_path, watch__debounce_seconds="0.01") as kb:
        kb.follow()
        wait_until(lambda: kb.documents() != [])
        root.rename(tmp_path / "elsewhere")
        wait_until(lambda: "cannot be listed" in str(kb.following.problem))
        write_documents(root, {"api/y.md": document("缓存", "击穿", "正文。")})
        wait_until(lambda: [record.path for record in kb.documents()] == ["api/y.md"])
        wait_until(lambda: kb.following.problem is None)
        write_documents(root, {"api/y.md": document("缓存", "雪崩", "正文。")})
        wait_until(lambda: kb.lookup("雪崩").primary is not None)
