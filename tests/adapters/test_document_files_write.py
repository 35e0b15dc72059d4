"""Documents saved and deleted (U1, U2, U4, U7)."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kbapp.adapters.document_files import DocumentFiles
from kbapp.domain.errors import UserError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "knowledge_base"
    folder.mkdir()
    return folder


@pytest.fixture
def files(root: Path) -> DocumentFiles:
    return DocumentFiles(root)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything under a folder: bytes of files, None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_u1_the_bytes_are_stored_unchanged_in_a_new_folder(root: Path, files: DocumentFiles) -> None:
    data = "\ufeff# 标题\r\n正文".encode()
    path = files.document_path("payment.md", "api")
    files.save(path, data)
    assert tree(root) == {"api": None, "api/payment.md": data}
    assert files.read_bytes(path) == data


def test_u1_a_document_is_replaced(root: Path, files: DocumentFiles) -> None:
    files.save("api/x.md", b"old")
    files.save("api/x.md", b"new")
    assert tree(root) == {"api": None, "api/x.md": b"new"}


def test_u1_a_saved_file_has_the_usual_permissions(root: Path, files: DocumentFiles) -> None:
    files.save("api/x.md", b"x")
    (root / "other.md").touch()
    assert (root / "api/x.md").stat().st_mode == (root / "other.md").stat().st_mode


def test_u1_a_document_with_a_decomposed_name_is_replaced_not_doubled(root: Path, files: DocumentFiles) -> None:
    (root / "cafe\u0301").mkdir()
    (root / "cafe\u0301/u\u0308ber.md").write_bytes(b"old")
    files.save("café/über.md", b"new")
    files.save("café/new.md", b"new")
    assert tree(root) == {"cafe\u0301": None, "cafe\u0301/u\u0308ber.md": b"new", "cafe\u0301/new.md": b"new"}


def test_u2_the_size_limit_holds(root: Path) -> None:
    files = DocumentFiles(root, max_file_size=10)
    files.save("api/x.md", b"x" * 10)
    with pytest.raises(UserError, match=r"^api/y\.md has 11 bytes, more than the 10 of knowledge\.max-file-size"):
        files.save("api/y.md", b"x" * 11)
    assert tree(root) == {"api": None, "api/x.md": b"x" * 10}


def test_u2_nothing_is_written_or_deleted_through_a_link_to_the_outside(
    root: Path, files: DocumentFiles, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_bytes(b"outside")
    (root / "folder").symlink_to(outside)
    (root / "link.md").symlink_to(outside / "x.md")
    (root / "dangling").symlink_to(outside / "not there")
    for path in ("folder/x.md", "folder/new.md", "link.md", "folder/deep/x.md", "dangling/x.md"):
        with pytest.raises(UserError, match="leads outside knowledge_base/ by a link"):
            files.save(path, b"changed")
        with pytest.raises(UserError, match="leads outside knowledge_base/ by a link"):
            files.delete(path)
    assert tree(outside) == {"x.md": b"outside"}


@pytest.mark.parametrize("path", ["../x.md", "/etc/x.md", "api/../../x.md", "a\0.md", ""])
def test_u2_nothing_is_written_or_deleted_outside(files: DocumentFiles, tmp_path: Path, path: str) -> None:
    (tmp_path / "x.md").write_bytes(b"outside")
    with pytest.raises(UserError):
        files.save(path, b"changed")
    with pytest.raises(UserError):
        files.delete(path)
    assert tree(tmp_path) == {"x.md": b"outside", "knowledge_base": None}


@given(st.text(max_size=12), st.text(max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_u2_whatever_the_name_only_one_file_in_one_folder_is_written(tmp_path: Path, name: str, category: str) -> None:
    root = tmp_path / "knowledge_base"
    root.mkdir(exist_ok=True)
    files = DocumentFiles(root)
    try:
        path = files.document_path(f"{name}.md", category)
    except UserError:
        return
    files.save(path, b"text")
    assert path in files.scan().paths
    assert files.read_bytes(path) == b"text"
    assert files.resolve(path) == path
    files.delete(path)
    assert list(tmp_path.iterdir()) == [root]
    assert [file for file in root.rglob("*") if file.is_file()] == []


def test_u4_a_save_that_fails_changes_nothing(root: Path, files: DocumentFiles) -> None:
    (root / "api").write_bytes(b"a file where the folder should be")
    (root / "docs/x.md").mkdir(parents=True)
    before = tree(root)
    for path in ("api/x.md", "docs/x.md", "new/" + "x" * 300 + ".md"):
        with pytest.raises(UserError, match=f"^{path[:20]}.* cannot be written "):
            files.save(path, b"text")
    assert tree(root) == before


def test_u7_a_document_is_deleted(root: Path, files: DocumentFiles) -> None:
    files.save("api/x.md", b"x")
    files.save("api/y.md", b"y")
    files.delete("api/x.md")
    assert tree(root) == {"api": None, "api/y.md": b"y"}
    with pytest.raises(UserError, match=r"^api/x\.md is not there"):
        files.delete("api/x.md")


def test_s4_leftovers_of_a_killed_save_are_never_documents_and_can_be_removed(root: Path, files: DocumentFiles) -> None:
    files.save("api/x.md", b"x")
    (root / "api/.kbapp-0123456789abcdef.tmp").write_bytes(b"half a docu")
    (root / "api/.keep").touch()
    assert files.scan().paths == ("api/x.md",)
    files.remove_leftovers()
    assert set(tree(root)) == {"api", "api/x.md", "api/.keep"}
