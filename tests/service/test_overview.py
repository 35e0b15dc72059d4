"""The state at a glance: right figures, notices with what they concern, and nothing opened to tell it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.adapters.profiles import E5_SMALL
from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.documents import DocumentStatus
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.health import Engine
from kbapp.domain.relevance import DistanceProfile, RelevanceProfile, Thresholds
from kbapp.service.follower import FollowMode, FollowStatus
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.overview import DomainState, NoticeKind, Overview, OverviewReader, ProfileKind, domain_states
from kbapp.service.records import new_record
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, settings_for, write_documents
from tests.values import grading_in_force

DOCUMENTS = {
    "api/payment.md": document("支付网关错误码", "ERR_TIMEOUT", "## 超时\n\n重试三次。"),
    "api/refund.md": document("退款", "退款接口", "退款接口的说明。"),
    "notes.md": "# Notes\n\nPlain text.\n",
}
BROKEN = "---\ntitle: a: b: c\n---\n\n# Title\n\nText.\n"


class NoRecords:
    """Records of a database that cannot be used."""

    def documents(self) -> dict[str, object]:
        raise IndexUnavailable("the database cannot be used: free the disk")


class NoEntries:
    def entries(self) -> tuple[()]:
        return ()


def kinds(overview: Overview) -> list[NoticeKind]:
    return [notice.kind for notice in overview.notices]


def reader(
    *,
    profile: RelevanceProfile | None = None,
    engine: Engine | None = None,
    lost_rows: int = 0,
) -> OverviewReader:
    return OverviewReader(
        records=NoRecords(),  # type: ignore[arg-type]
        keywords=NoEntries(),  # type: ignore[arg-type]
        model="a-model",
        grading=grading_in_force(profile or DistanceProfile("bge-m3", provisional=False)),
        engine=lambda: engine,
        in_memory=lambda: None,
        lost_rows=lambda: lost_rows,
        sources=lambda: (),
    )


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    return open_for_test(tmp_path)


def test_an_indexed_knowledge_base_has_its_documents_by_domain_and_its_chunks(kb: KnowledgeBase) -> None:
    with kb:
        kb.reindex()
        overview = kb.overview()
        chunks = {path: len(kb.chunks(path)) for path in DOCUMENTS}
    assert overview.domains == (
        DomainState("api", 2, chunks["api/payment.md"] + chunks["api/refund.md"], pending=0, failed=0),
        DomainState("general", 1, chunks["notes.md"], pending=0, failed=0),
    )
    assert (overview.documents, overview.chunks) == (3, sum(chunks.values()))
    assert (overview.entries, overview.pending, overview.failed) == (2, 0, 0)
    assert overview.model == "tiny:64"
    assert overview.thresholds == Thresholds()


def test_before_the_first_reconcile_what_l0_knows_is_pending(kb: KnowledgeBase) -> None:
    with kb:
        overview = kb.overview()
    assert overview.domains == (DomainState("api", 2, 0, pending=2, failed=0),)
    assert overview.entries == 2


def test_documents_under_way_and_failed_ones_are_counted_in_their_domain() -> None:
    statuses = [DocumentStatus.PENDING, DocumentStatus.FAILED, DocumentStatus.INDEXED]
    records = [replace(new_record(f"api/{status}.md"), status=status) for status in statuses]
    assert domain_states(records, []) == (DomainState("api", 3, 0, pending=1, failed=1),)


def test_telling_the_state_opens_no_engine(kb: KnowledgeBase, tmp_path: Path) -> None:
    with kb:
        assert kb.overview().engine is None
        assert not (tmp_path / "state" / "milvus.db").exists()
        kb.reindex()
        engine = kb.overview().engine
    assert engine
    assert (engine.role, engine.problem) == ("owner", None)


def test_an_engine_that_cannot_be_opened_is_unavailable_with_its_reason_until_it_answers(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    settings = settings_for(tmp_path, milvus__uri=str(tmp_path / "file" / "milvus"))
    (tmp_path / "file").write_text("in the way")
    with open_knowledge_base(settings, embedder=TinyEmbedder()) as kb:
        kb.reindex()
        kb.lookup("escalation")
        overview = kb.overview()
        (tmp_path / "file").unlink()
        kb.reindex()
        mended = kb.overview()
    assert overview.engine
    assert overview.engine.role == "unavailable"
    assert overview.engine.problem
    assert kinds(overview) == [NoticeKind.ENGINE, NoticeKind.FAILED, NoticeKind.UNKNOWN_MODEL]
    assert overview.notices[0].detail == overview.engine.problem
    assert [problem.path for problem in overview.notices[1].problems] == sorted(DOCUMENTS)
    assert overview.failed == 3
    assert kinds(mended) == [NoticeKind.UNKNOWN_MODEL]
    assert mended.failed == 0


def test_a_frontmatter_that_is_not_used_is_named_with_the_reason(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/broken.md": BROKEN})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        [notice] = [notice for notice in kb.overview().notices if notice.kind is NoticeKind.FRONTMATTER]
    assert notice.count == 1
    assert notice.problems[0].path == "api/broken.md"
    assert "line 2" in notice.problems[0].error


def test_a_database_that_cannot_be_used_is_a_notice_and_no_exception() -> None:
    overview = reader().read(FollowStatus())
    assert kinds(overview) == [NoticeKind.DATABASE]
    assert "free the disk" in overview.notices[0].detail


def test_rows_that_could_not_be_recorded_are_counted() -> None:
    [_, notice] = reader(lost_rows=3).read(FollowStatus()).notices
    assert (notice.kind, notice.count) == (NoticeKind.TELEMETRY, 3)


def test_lost_telemetry_of_a_knowledge_base_is_noticed(kb: KnowledgeBase, tmp_path: Path) -> None:
    with kb:
        kb.reindex()
        assert NoticeKind.TELEMETRY not in kinds(kb.overview())
        with closing(sqlite3.connect(tmp_path / "state" / "kbapp.sqlite3")) as connection:
            connection.execute("DROP TABLE tool_invocation")
        kb.lookup("ERR_TIMEOUT")
        assert NoticeKind.TELEMETRY in kinds(kb.overview())


@pytest.mark.parametrize(
    ("mode", "problem", "expected"),
    [
        (FollowMode.EVENTS, None, []),
        (FollowMode.EVENTS, "no folder", [NoticeKind.FOLLOWING]),
        (FollowMode.POLLING, "no watches left", [NoticeKind.POLLING]),
        (FollowMode.OFF, None, []),
    ],
)
def test_how_the_files_are_followed(mode: FollowMode, problem: str | None, expected: list[NoticeKind]) -> None:
    overview = reader().read(FollowStatus(mode, problem=problem))
    assert kinds(overview)[1:] == expected
    assert [notice.detail for notice in overview.notices[1:]] == [problem] * len(expected)


@pytest.mark.parametrize(("provisional", "kind"), [(False, ProfileKind.CALIBRATED), (True, ProfileKind.UNKNOWN)])
def test_a_model_without_a_profile_is_to_be_checked(provisional: bool, kind: ProfileKind) -> None:
    overview = reader(profile=DistanceProfile("x", provisional=provisional)).read(FollowStatus())
    assert overview.profile is kind
    assert (NoticeKind.UNKNOWN_MODEL in kinds(overview)) is provisional


def test_a_profile_of_other_knowledge_bases_is_provisional_and_nothing_to_act_on() -> None:
    overview = reader(profile=E5_SMALL).read(FollowStatus())
    assert overview.profile is ProfileKind.PROVISIONAL
    assert NoticeKind.UNKNOWN_MODEL not in kinds(overview)
