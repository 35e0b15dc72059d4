"""Each step of an upload and of a deletion fails: U4 and U7 say what is left, and the next reconcile mends it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters import database
from kbapp.adapters.document_records import DocumentRecords
from kbapp.adapters.index_lock import hold_index_lock
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.documents import DocumentRecord, DocumentStatus
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.ports import Vectors
from kbapp.service import documents
from kbapp.service.documents import UploadOutcome, UploadResult
from kbapp.service.index_report import ChangeKind
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, tree, write_documents

OLD = document("支付网关", "ERR_OLD", "旧版本讲超时。")
NEW = document("支付网关", "ERR_NEW", "新版本讲签名。")
OTHER = document("缓存", "击穿", "缓存击穿时加互斥锁。")
Fail = Callable[..., object]
Upload = Callable[[KnowledgeBase], UploadResult]


class FragileEmbedder(TinyEmbedder):
    """Works until ``before_each`` says otherwise."""

    before_each: Callable[[], object] = staticmethod(lambda: None)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.before_each()
        return super().embed_passages(texts)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    write_documents(root, {"api/payment.md": OLD, "domain/cache.md": OTHER})
    return root


@pytest.fixture
def embedder() -> FragileEmbedder:
    return FragileEmbedder()


@pytest.fixture
def kb(
    tmp_path: Path, root: Path, embedder: FragileEmbedder, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KnowledgeBase]:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_SECONDS", 0.05)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        yield kb


@pytest.fixture
def lock_database(tmp_path: Path, kb: KnowledgeBase) -> Iterator[sqlite3.Connection]:
    """Another writer of the database: ``execute("BEGIN IMMEDIATE")`` locks it, ``rollback()`` lets it go."""
    file = tmp_path / "state" / DATABASE_FILE
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as connection:
        yield connection


def failing(error: BaseException) -> Fail:
    def fail(*arguments: object, **named: object) -> object:
        raise error

    return fail


def record_of(kb: KnowledgeBase, path: str) -> DocumentRecord | None:
    return next((record for record in kb.documents() if record.path == path), None)


def upload_new(kb: KnowledgeBase) -> UploadResult:
    return kb.upload("new.md", NEW.encode(), "guides")


def replace_old(kb: KnowledgeBase) -> UploadResult:
    return kb.upload("payment.md", NEW.encode(), "api", replace=True)


def is_found(kb: KnowledgeBase, keyword: str) -> bool:
    return kb.lookup(keyword).primary is not None


def assert_mended(kb: KnowledgeBase, path: str, kind: ChangeKind) -> None:
    """The next reconcile, of this process or after a restart, indexes the document."""
    assert [(change.path, change.kind) for change in kb.refresh().changes] == [(path, kind)]
    assert is_found(kb, "ERR_NEW")
    assert kb.health().consistent


@pytest.mark.parametrize(
    ("upload", "step", "code"),
    [
        (upload_new, "mkdir", errno.EROFS),
        (upload_new, "fsync", errno.ENOSPC),
        (replace_old, "fsync", errno.ENOSPC),
        (upload_new, "replace", errno.EACCES),
        (replace_old, "replace", errno.EACCES),
    ],
)
def test_u4_a_file_that_cannot_be_written_changes_nothing(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch, upload: Upload, step: str, code: int
) -> None:
    before = tree(root), kb.documents()
    reason = os.strerror(code)
    with monkeypatch.context() as patch:
        patch.setattr(os, step, failing(OSError(code, reason)))
        with pytest.raises(UserError, match=rf"cannot be written \({reason}\): check its permissions and the space"):
            upload(kb)
    assert (tree(root), kb.documents()) == before
    assert is_found(kb, "ERR_OLD")
    assert kb.health().consistent


def fail_in_the_embedder(embedder: FragileEmbedder, patch: pytest.MonkeyPatch, error: Exception) -> None:
    patch.setattr(embedder, "before_each", failing(error))


def fail_in_milvus(embedder: FragileEmbedder, patch: pytest.MonkeyPatch, error: Exception) -> None:
    patch.setattr(MilvusIndex, "write", failing(error))


def fail_at_the_commit(embedder: FragileEmbedder, patch: pytest.MonkeyPatch, error: Exception) -> None:
    patch.setattr(DocumentRecords, "commit_chunks", failing(error))


LATER_STEPS = [fail_in_the_embedder, fail_in_milvus, fail_at_the_commit]


@pytest.mark.parametrize("let_fail", LATER_STEPS)
def test_u4_a_later_step_fails_and_the_file_stays_with_a_failed_record(
    kb: KnowledgeBase, root: Path, embedder: FragileEmbedder, monkeypatch: pytest.MonkeyPatch, let_fail: Fail
) -> None:
    with monkeypatch.context() as patch:
        let_fail(embedder, patch, IndexUnavailable("it is out of order"))
        result = upload_new(kb)
    assert (result.outcome, result.record.error) == (UploadOutcome.FAILED, "it is out of order")
    assert (root / "guides/new.md").read_bytes() == NEW.encode()
    record = record_of(kb, "guides/new.md")
    assert record is not None
    assert (record.status, record.error, record.title) == (DocumentStatus.FAILED, "it is out of order", "支付网关")
    assert record.metadata == result.record.metadata
    assert record.chunk_count == 0
    assert not is_found(kb, "ERR_NEW")
    assert_mended(kb, "guides/new.md", ChangeKind.ADDED)


@pytest.mark.parametrize("let_fail", LATER_STEPS)
def test_u4_a_failed_replacement_keeps_answering_from_the_old_version(
    kb: KnowledgeBase, root: Path, embedder: FragileEmbedder, monkeypatch: pytest.MonkeyPatch, let_fail: Fail
) -> None:
    chunks = kb.chunks("api/payment.md")
    with monkeypatch.context() as patch:
        let_fail(embedder, patch, IndexUnavailable("it is out of order"))
        result = replace_old(kb)
    assert (result.outcome, result.record.status) == (UploadOutcome.FAILED, DocumentStatus.FAILED)
    assert (root / "api/payment.md").read_bytes() == NEW.encode()
    assert kb.chunks("api/payment.md") == chunks
    assert (is_found(kb, "ERR_OLD"), is_found(kb, "ERR_NEW")) == (True, False)
    assert_mended(kb, "api/payment.md", ChangeKind.UPDATED)
    assert not is_found(kb, "ERR_OLD")


def test_u4_a_failed_upload_is_retried_by_uploading_the_same_again(
    kb: KnowledgeBase, embedder: FragileEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail_in_the_embedder(embedder, patch, IndexUnavailable("it is out of order"))
        assert upload_new(kb).outcome is UploadOutcome.FAILED
    assert upload_new(kb).outcome is UploadOutcome.INDEXED
    assert kb.health().consistent


def test_old_vectors_that_cannot_be_deleted_are_not_found_and_go_later(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(MilvusIndex, "delete", failing(IndexUnavailable("it is out of order")))
        assert replace_old(kb).outcome is UploadOutcome.REPLACED
        assert kb.delete("domain/cache.md").path == "domain/cache.md"
        assert not is_found(kb, "ERR_OLD")
        assert not is_found(kb, "击穿")
        assert kb.lookup("缓存击穿时加互斥锁").supplement is None
        assert not kb.health().consistent
    kb.refresh()
    assert kb.health().consistent


def test_u4_a_locked_database_leaves_the_file_to_the_next_reconcile(
    kb: KnowledgeBase, root: Path, lock_database: sqlite3.Connection
) -> None:
    lock_database.execute("BEGIN IMMEDIATE")
    result = upload_new(kb)
    assert (result.outcome, result.record.status) == (UploadOutcome.FAILED, DocumentStatus.FAILED)
    assert result.record.path == "guides/new.md"
    assert "locked" in str(result.record.error)
    assert (root / "guides/new.md").read_bytes() == NEW.encode()
    assert record_of(kb, "guides/new.md") is None
    lock_database.rollback()
    assert_mended(kb, "guides/new.md", ChangeKind.ADDED)


def test_u4_a_database_that_locks_during_the_embedding_leaves_a_pending_record(
    kb: KnowledgeBase, embedder: FragileEmbedder, lock_database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(embedder, "before_each", lambda: lock_database.execute("BEGIN IMMEDIATE"))
        result = replace_old(kb)
    assert result.outcome is UploadOutcome.FAILED
    assert "locked" in str(result.record.error)
    record = record_of(kb, "api/payment.md")
    assert record is not None
    assert record.status is DocumentStatus.PENDING
    assert is_found(kb, "ERR_OLD")
    lock_database.rollback()
    assert_mended(kb, "api/payment.md", ChangeKind.UPDATED)


def test_s5_a_lock_that_another_process_holds_too_long_is_named_and_nothing_is_written(
    kb: KnowledgeBase, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "LOCK_WAIT_SECONDS", 0)
    before = tree(root), kb.documents()
    with hold_index_lock(tmp_path / "state", 0):
        for change in (upload_new, replace_old, lambda kb: kb.delete("api/payment.md")):
            with pytest.raises(IndexUnavailable, match=f"process {os.getpid()} is indexing"):
                change(kb)
    assert (tree(root), kb.documents()) == before
    assert upload_new(kb).outcome is UploadOutcome.INDEXED


@pytest.mark.parametrize(
    ("store", "step"),
    [
        (DocumentRecords, "save"),
        (MilvusIndex, "write"),
        (DocumentRecords, "commit_chunks"),
        (MilvusIndex, "delete"),
    ],
)
def test_s4_an_upload_that_is_killed_at_a_step_is_finished_by_the_next_start(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: type, step: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, step, failing(SystemExit("killed")))
        with pytest.raises(SystemExit):
            replace_old(kb)
    kb.close()
    with open_for_test(tmp_path) as again:
        again.refresh()
        assert (is_found(again, "ERR_NEW"), is_found(again, "ERR_OLD")) == (True, False)
        assert again.health().consistent


def test_s4_what_a_killed_write_left_behind_goes_with_the_next_reconcile(kb: KnowledgeBase, root: Path) -> None:
    before = tree(root)
    (root / "api/.kbapp-0123456789abcdef.tmp").write_bytes(b"half a docu")
    kb.refresh()
    assert tree(root) == before


def test_u7_a_file_that_cannot_be_deleted_leaves_everything_as_it_was(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(root), kb.documents(), kb.entries()
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", failing(OSError(errno.EACCES, "Permission denied")))
        with pytest.raises(UserError, match=r"^api/payment\.md cannot be deleted \(Permission denied\)"):
            kb.delete("api/payment.md")
    assert (tree(root), kb.documents(), kb.entries()) == before
    assert kb.health().consistent


def test_u7_a_deletion_that_the_database_stopped_is_finished_by_deleting_again(
    kb: KnowledgeBase, root: Path, lock_database: sqlite3.Connection
) -> None:
    lock_database.execute("BEGIN IMMEDIATE")
    with pytest.raises(IndexUnavailable, match="locked"):
        kb.delete("api/payment.md")
    assert not (root / "api/payment.md").exists()
    assert not is_found(kb, "ERR_OLD")
    lock_database.rollback()
    assert kb.delete("api/payment.md").path == "api/payment.md"
    assert record_of(kb, "api/payment.md") is None
    assert kb.health().consistent
