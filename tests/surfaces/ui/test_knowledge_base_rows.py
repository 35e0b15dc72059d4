"""Which documents pass the filters, and work that goes on whatever the page does."""

from __future__ import annotations

import threading

import pytest

from kbapp.domain.documents import DocumentStatus, KnowledgeEntry
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.service.records import new_record
from kbapp.surfaces.ui.kb_jobs import Job, Progress, Report
from kbapp.surfaces.ui.kb_rows import RowFilter, domains_of, matching, reason, rows_of

ROWS = rows_of(
    [new_record("api/payment.md"), new_record("root.md"), new_record("运维/ＮＧＩＮＸ.md")],
    [KnowledgeEntry("api/payment.md", "支付网关", ("ERR_TIMEOUT", "超时"), None)],
)


@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        (RowFilter(), ["api/payment.md", "root.md", "运维/ＮＧＩＮＸ.md"]),
        (RowFilter("err_timeout"), ["api/payment.md"]),
        (RowFilter(" 超时  PAYMENT "), ["api/payment.md"]),
        (RowFilter("超时 root"), []),
        (RowFilter("nginx"), ["运维/ＮＧＩＮＸ.md"]),
        (RowFilter(domains=("general", "api")), ["api/payment.md", "root.md"]),
        (RowFilter(statuses=(DocumentStatus.FAILED,)), []),
        (RowFilter("md", ("api",), (DocumentStatus.PENDING,)), ["api/payment.md"]),
    ],
)
def test_rows_pass_when_every_word_and_every_filter_does(wanted: RowFilter, paths: list[str]) -> None:
    assert [row.record.path for row in matching(ROWS, wanted)] == paths


def test_domains_are_listed_once_and_keywords_are_those_of_l0() -> None:
    assert domains_of(ROWS) == ["api", "general", "运维"]
    assert [row.keywords for row in ROWS] == [("ERR_TIMEOUT", "超时"), (), ()]


def test_a_reason_names_its_document_once() -> None:
    assert reason("a/x.md", "a/x.md cannot be read") == "a/x.md cannot be read"
    assert reason("a/x.md", "the model is down") == "a/x.md: the model is down"


def test_a_job_runs_once_and_tells_its_progress_and_its_outcome() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(report: Report) -> str:
        report(Progress(0.5, "x.md"))
        begun.set()
        go_on.wait()
        return "done"

    job = Job(work)
    begun.wait()
    assert (job.wait(0), job.progress, job.outcome) == (False, Progress(0.5, "x.md"), None)
    go_on.set()
    assert (job.wait(), job.outcome, job.error) == (True, "done", None)


@pytest.mark.parametrize("error", [UserError("no"), IndexUnavailable("down"), ZeroDivisionError("odd")])
def test_what_goes_wrong_in_a_job_is_its_error(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def work(_: Report) -> None:
        raise error

    job = Job(work)
    job.wait()
    assert (job.error, job.outcome) == (error, None)
    assert bool(caplog.records) == isinstance(error, ZeroDivisionError)
