"""Export and import of a whole knowledge base (issue 10, part 7)."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from kbapp import import_archive
from kbapp.domain.backup_reports import ImportReport
from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, settings_for, tree, write_documents

DOCUMENTS = {
    "api/支付网关.md": document(
        "支付网关错误码", "ERR_TIMEOUT", "支付网关请求超时，应当重试。\n\n## 退款\n\n退款需要人工审核。"
    ),
    "运维/磁盘 满.md": document("磁盘空间不足", "disk full", "清理日志，扩容磁盘。"),
    "plain.md": "# Rotating keys\r\n\r\nRevoke the old key first.\r\n",
}
SYNONYMS = "- [超时, timeout]\n"
QUERIES = ("ERR_TIMEOUT", "退款 审核", "how to rotate a key", "日志 清理", "timeout", "没有这样的东西 xyz")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An indexed knowledge base with telemetry and a mark."""
    folder = tmp_path / "source"
    write_documents(folder / "knowledge_base", {**DOCUMENTS, "synonyms.yaml": SYNONYMS, "logo.png": b"\x89PNG"})
    os.utime(folder / "knowledge_base/plain.md", ns=(1_500_000_000_123_456_789, 1_500_000_000_123_456_789))
    with open_for_test(folder) as kb:
        kb.reindex()
        for number, query in enumerate(QUERIES):
            result = kb.lookup(query, session_id=f"s{number % 2}")
            kb.feedback(str(result.invocation_id), "helpful", "好")
    return folder


def export(folder: Path, archive: Path, **options: bool) -> Path:
    with open_for_test(folder) as kb:
        kb.export(archive, **options)
    return archive


def restore(archive: Path, folder: Path, *, replace: bool = False) -> ImportReport:
    return import_archive(archive, settings_for(folder), replace=replace)


def answers(kb: KnowledgeBase) -> list[dict[str, JsonValue]]:
    """Also those of the sessions that were exported."""
    found = [kb.lookup(query, session_id=session).to_dict() for session in (None, "s0", "s1") for query in QUERIES]
    for answer in found:
        del answer["invocationId"]
    return found


def database_rows(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "state/kbapp.sqlite3")) as connection:
        return connection.execute(statement).fetchall()


def everything_in(folder: Path) -> dict[str, object]:
    """What a refused import must leave as it is: the files, and each row of the database."""
    tables = [str(name) for (name,) in database_rows(folder, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {table: database_rows(folder, f"SELECT * FROM {table}") for table in tables if "fts" not in table}
    return {**tree(folder / "knowledge_base"), **rows}


def test_a_restored_copy_answers_as_the_original_to_the_byte_and_embeds_nothing(source: Path, tmp_path: Path) -> None:
    archive = export(source, tmp_path / "b.tar.gz")
    report = restore(archive, tmp_path / "copy")
    assert report.documents == 3
    originals = {path: data for path, data in tree(source / "knowledge_base").items() if path != "logo.png"}
    assert tree(tmp_path / "copy/knowledge_base") == originals
    assert (tmp_path / "copy/knowledge_base/plain.md").stat().st_mtime_ns == 1_500_000_000_123_456_789
    embedder = TinyEmbedder()
    with open_for_test(tmp_path / "copy", embedder) as kb, open_for_test(source) as original:
        assert kb.reindex().embedded == 0
        passages = {chunk.chunk.embedded_text for record in kb.documents() for chunk in kb.chunks(record.path)}
        assert not passages & set(embedder.texts)
        health = kb.health()
        assert health.consistent, health.problems
        assert kb.telemetry() == original.telemetry()
        marks = [kb.marks(row.id) for row in kb.telemetry()]
        assert marks == [original.marks(row.id) for row in original.telemetry()]
        assert [mark.note for [mark] in marks] == ["好"] * len(QUERIES)
        assert answers(kb) == answers(original)


def test_a_copy_without_vectors_embeds_and_then_answers_the_same(source: Path, tmp_path: Path) -> None:
    archive = export(source, tmp_path / "b.tar.gz", vectors=False)
    assert restore(archive, tmp_path / "copy").database.vectors == 0
    with open_for_test(tmp_path / "copy") as kb, open_for_test(source) as original:
        kb.reindex()
        assert kb.health().consistent
        assert answers(kb) == answers(original)
        [count] = kb.select("SELECT count(*) FROM embedding_cache").rows
        assert count[0] > 0


def test_a_copy_in_a_folder_of_another_name_is_consistent_after_the_next_index(source: Path, tmp_path: Path) -> None:
    archive = export(source, tmp_path / "b.tar.gz")
    base = str(tmp_path / "文档")
    import_archive(archive, settings_for(tmp_path / "copy", knowledge__base_path=base))
    with open_for_test(tmp_path / "copy", knowledge__base_path=base) as kb:
        kb.reindex()
        assert kb.health().consistent
        assert kb.lookup("ERR_TIMEOUT").to_dict()["primary"]["source"] == "文档/api/支付网关.md"  # type: ignore[index,call-overload]


def test_what_is_here_is_replaced_only_on_demand_and_kept_as_an_archive(source: Path, tmp_path: Path) -> None:
    archive = export(source, tmp_path / "b.tar.gz")
    target = tmp_path / "target"
    write_documents(
        target / "knowledge_base", {"old/旧.md": "# 旧文档\n\n旧内容", "plain.md": "# 另一个", "a.txt": "text"}
    )
    with open_for_test(target) as kb:
        kb.reindex()
        kb.lookup("旧")
    before = everything_in(target)
    with pytest.raises(UserError, match=r"holds 2 documents, and .* 1 telemetry rows: --replace"):
        restore(archive, target)
    assert everything_in(target) == before
    report = restore(archive, target, replace=True)
    files = tree(target / "knowledge_base")
    assert files.pop("a.txt") == b"text"
    assert files == {path: data for path, data in tree(source / "knowledge_base").items() if path != "logo.png"}
    [kept] = report.kept
    assert kept.parent == target / "state"
    assert kept.stat().st_mode & 0o777 == 0o600
    restore(kept, tmp_path / "undone")
    former = everything_in(tmp_path / "undone")
    assert former["old/旧.md"] == before["old/旧.md"]
    assert former["tool_invocation"] == before["tool_invocation"]
    with open_for_test(target) as kb:
        kb.reindex()
        assert kb.health().consistent
        assert len(kb.telemetry()) == len(QUERIES)


def test_a_damaged_database_is_replaced_and_kept_as_it_was(source: Path, tmp_path: Path) -> None:
    archive = export(source, tmp_path / "b.tar.gz")
    (source / "state/kbapp.sqlite3").write_bytes(b"no database at all" * 100)
    for suffix in ("-wal", "-shm"):
        (source / f"state/kbapp.sqlite3{suffix}").unlink(missing_ok=True)
    with pytest.raises(UserError, match="cannot be read: --replace"):
        restore(archive, source)
    documents, database = restore(archive, source, replace=True).kept
    assert documents.name.startswith("before-import-")
    assert database.read_bytes() == b"no database at all" * 100
    with open_for_test(source) as kb:
        kb.reindex()
        assert kb.health().consistent
        assert len(kb.telemetry()) == len(QUERIES)
    restore(documents, tmp_path / "undone")
    assert tree(tmp_path / "undone/knowledge_base")["plain.md"] == DOCUMENTS["plain.md"].encode()


@pytest.mark.parametrize("replace", [False, True])
def test_nothing_is_imported_while_somebody_has_the_knowledge_base_open(
    source: Path, tmp_path: Path, replace: bool
) -> None:
    archive = export(source, tmp_path / "b.tar.gz")
    with open_for_test(tmp_path / "target") as kb:
        kb.reindex()
        with pytest.raises(IndexUnavailable, match=r"has .*kbapp\.sqlite3 open: end the app"):
            restore(archive, tmp_path / "target", replace=replace)
        kb.upload("new.md", b"# new", "api")
        assert kb.health().consistent
    with open_for_test(tmp_path / "target") as kb:
        assert [record.path for record in kb.documents()] == ["api/new.md"]


def test_an_export_holds_one_moment_of_the_database_while_others_write(source: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    with open_for_test(source) as kb, open_for_test(source) as other:

        def ask() -> None:
            while not stop.is_set():
                result = other.lookup("ERR_TIMEOUT", session_id="busy")
                other.feedback(str(result.invocation_id), "helpful")

        writer = threading.Thread(target=ask)
        writer.start()
        try:
            for number in range(3):
                kb.export(tmp_path / f"{number}.tar.gz")
        finally:
            stop.set()
            writer.join()
    for number in range(3):
        restore(tmp_path / f"{number}.tar.gz", tmp_path / str(number))
        with open_for_test(tmp_path / str(number)) as copy:
            copy.reindex()
            assert copy.health().consistent
            counted = copy.select("SELECT (SELECT count(*) FROM tool_invocation), (SELECT count(*) FROM feedback)").rows
            calls, marks = counted[0]
            assert int(str(calls)) - int(str(marks)) in (0, 1)
