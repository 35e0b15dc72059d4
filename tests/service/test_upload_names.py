"""Hostile names and files: refused with a sentence, or stored as what they are; nothing else changes (U2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kbapp.domain.errors import UserError
from kbapp.service.documents import UploadOutcome
from kbapp.service.knowledge_base import KnowledgeBase
from tests.knowledge import open_for_test, tree, write_documents

QUOTED = 'a" or id > 0 or document == "b.md'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
LIMIT_BYTES = 2000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    write_documents(root, {"api/b.md": "这里讲的是连接池的配置方法。\n"})
    write_documents(tmp_path, {"x.md": "outside", "outside/x.md": "outside"})
    return root


@pytest.fixture
def kb(tmp_path: Path, root: Path) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path, knowledge__max_file_size=str(LIMIT_BYTES)) as kb:
        yield kb


def everything(tmp_path: Path) -> dict[str, bytes | None]:
    return {path: data for path, data in tree(tmp_path).items() if not path.startswith("state")}


REFUSED_NAMES = {
    "../../x.md": "is a path",
    "/etc/x.md": "is a path",
    "..\\x.md": "is a path",
    "C:\\x.md": "is a path",
    "C:x.md": "Windows cannot store it",
    "a/../../b.md": "is a path",
    "con.md": "reserved name of Windows",
    "x" * 300 + ".md": "longer than 255 bytes",
    "超" * 85 + ".md": "longer than 255 bytes",
    "": "is empty",
    "a\0.md": "control characters",
    "a\n.md": "control characters",
    "\u202edm.exe.md": "control characters",
    "latin\udce9.md": "control characters",
    QUOTED: "Windows cannot store it",
    "back\\slash.md": "is a path",
    ".hidden.md": "starts with a dot",
    "..": "is a path",
    ".md": "starts with a dot",
    "x.md ": "a space",
    "notes.txt": "does not end in .md",
    "notes.md.exe": "does not end in .md",
}


@pytest.mark.parametrize(("name", "reason"), REFUSED_NAMES.items())
def test_u2_a_hostile_name_is_refused_with_a_sentence(
    kb: KnowledgeBase, tmp_path: Path, name: str, reason: str
) -> None:
    before = everything(tmp_path)
    with pytest.raises(UserError) as refused:
        kb.upload(name, b"text", "api", replace=True)
    assert "file name" in str(refused.value)
    assert reason in str(refused.value)
    assert not set(str(refused.value)) & set("\n\0\u202e\udce9")
    assert everything(tmp_path) == before
    assert kb.documents() == []


@pytest.mark.parametrize("category", ["..", ".", "", "a/b", "..\\up", "/etc", "C:", "nul", "a\0b", ".git", "x" * 300])
def test_u2_a_hostile_category_is_refused_with_a_sentence(kb: KnowledgeBase, tmp_path: Path, category: str) -> None:
    before = everything(tmp_path)
    with pytest.raises(UserError, match=r"^the category "):
        kb.upload("x.md", b"text", category, replace=True)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (PNG, "not text but binary"),
        (b"text\0text", "not text but binary"),
        ("é à ü".encode("latin-1"), "its encoding is not recognised"),
        (b"x" * (LIMIT_BYTES + 1), r"2,001 bytes, more than the 2,000 of knowledge\.max-file-size"),
    ],
)
def test_u2_a_text_that_cannot_be_read_is_refused_before_anything_is_written(
    kb: KnowledgeBase, tmp_path: Path, data: bytes, reason: str
) -> None:
    before = everything(tmp_path)
    with pytest.raises(UserError, match=rf"^new/x\.md .*{reason}"):
        kb.upload("x.md", data, "new")
    assert everything(tmp_path) == before
    assert kb.documents() == []


def test_u2_a_file_of_the_size_limit_is_taken(kb: KnowledgeBase) -> None:
    assert kb.upload("x.md", b"x" * LIMIT_BYTES, "new").outcome is UploadOutcome.INDEXED


def test_u2_a_folder_or_file_that_links_to_the_outside_is_refused(
    kb: KnowledgeBase, tmp_path: Path, root: Path
) -> None:
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "api/link.md").symlink_to(tmp_path / "outside/x.md")
    before = everything(tmp_path)
    for name, category in (("x.md", "link"), ("new.md", "link"), ("link.md", "api")):
        with pytest.raises(UserError, match="leads outside knowledge_base/ by a link"):
            kb.upload(name, b"text", category, replace=True)
        with pytest.raises(UserError, match="leads outside knowledge_base/ by a link"):
            kb.delete(f"{category}/{name}")
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    "path",
    [
        "../x.md",
        "../../x.md",
        "knowledge_base/../../x.md",
        "/etc/passwd",
        "/etc/x.md",
        "C:/x.md",
        "a\0.md",
        "",
        ".",
        "api",
        "api/",
        "x.txt",
    ],
)
def test_u2_a_path_that_is_no_document_deletes_nothing(kb: KnowledgeBase, tmp_path: Path, path: str) -> None:
    before = everything(tmp_path)
    with pytest.raises(UserError):
        kb.delete(path)
    assert everything(tmp_path) == before


def test_u2_a_name_where_a_folder_is_changes_nothing(kb: KnowledgeBase, tmp_path: Path, root: Path) -> None:
    write_documents(root, {"api/folder.md/y.md": "text"})
    before = everything(tmp_path)
    for name, category in (("folder.md", "api"), ("x.md", "b.md")):
        write_documents(root, {"b.md": "a file where the folder would be"})
        with pytest.raises(UserError, match="something else has its name"):
            kb.upload(name, b"text", category, replace=True)
    (root / "b.md").unlink()
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    "name",
    ["it's.md", "🎉.md", "支付 网关.md", "50%.md", "; drop table chunk;--.md", "$(rm -rf x).md", "-rf.MD", "a,b=c.md"],
)
def test_u2_an_odd_name_is_stored_found_and_deleted_like_any_other(
    kb: KnowledgeBase, tmp_path: Path, root: Path, name: str
) -> None:
    kb.refresh()
    before = everything(tmp_path)
    text = f"---\ntitle: 唯一的标题\n---\n\n{name}\n"
    assert kb.upload(name, text.encode(), name.removesuffix(".md")).outcome is UploadOutcome.INDEXED
    path = f"{name.removesuffix('.md')}/{name}"
    assert everything(tmp_path) == before | {
        f"knowledge_base/{name.removesuffix('.md')}": None,
        f"knowledge_base/{path}": text.encode(),
    }
    assert kb.lookup("唯一的标题").primary.source == f"knowledge_base/{path}"  # type: ignore[union-attr]
    assert kb.chunks(path)[0].path == path
    assert kb.health().consistent
    kb.delete(path)
    assert [record.path for record in kb.documents()] == ["api/b.md"]
    assert kb.health().consistent


ON_DISK = [QUOTED, "it's.md", "back\\slash.md", "🎉.md", "con.md", "a%' --.md", '{"$gt": 0}.md', "*.md", "?.md"]


@pytest.mark.parametrize("victim", ON_DISK)
def test_u2_a_hostile_name_on_the_disk_never_reaches_the_vectors_of_another_document(
    kb: KnowledgeBase, root: Path, victim: str
) -> None:
    write_documents(root, {f"api/{name}": f"文档 {number}\n" for number, name in enumerate(ON_DISK)})
    assert not kb.refresh().failed
    before = kb.health().counts
    record = kb.delete(f"api/{victim}")
    assert record.path == f"api/{victim}"
    assert not (root / "api" / victim).exists()
    counts = kb.health().counts
    assert counts["vectors"] == counts["chunks"] == before["chunks"] - record.chunk_count
    others = {"api/b.md", *(f"api/{name}" for name in ON_DISK)} - {record.path}
    assert {document.path for document in kb.documents()} == others
    assert all(kb.chunks(path) for path in others)
    assert kb.lookup("这里讲的是连接池的配置方法").supplement.source == "knowledge_base/api/b.md"  # type: ignore[union-attr]
    assert kb.health().consistent
    (root / "api/b.md").write_text("改过了。", encoding="utf-8")
    kb.refresh()
    assert kb.health().consistent


@given(st.text(max_size=9), st.text(max_size=9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_u2_whatever_the_name_an_upload_is_refused_or_undone_by_its_deletion(
    kb: KnowledgeBase, tmp_path: Path, name: str, category: str
) -> None:
    before = everything(tmp_path)
    try:
        path = kb.upload(f"{name}.md", b"text", category).record.path
    except UserError:
        assert everything(tmp_path) == before
        return
    assert set(everything(tmp_path)) - set(before) <= {f"knowledge_base/{path}", f"knowledge_base/{path.split('/')[0]}"}
    kb.delete(path)
    assert kb.documents() == []
