"""The scan of the knowledge base (K4, K8, U2)."""

import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.adapters.document_files import DocumentFiles
from kbapp.domain.errors import UserError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "knowledge_base"
    folder.mkdir()
    return folder


def put(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("---\ntitle: t\n---\n", encoding="utf-8")


def paths(root: Path) -> list[str]:
    return list(DocumentFiles(root).scan().paths)


def problems(root: Path) -> dict[str, str]:
    return {problem.path: problem.error for problem in DocumentFiles(root).scan().problems}


def test_k4_all_markdown_files_are_found_sorted_by_path(root: Path) -> None:
    put(root, "b/x.md", "a/z.MD", "a/b/y.md", "支付/超时.md", "root.md", "a-b/x.Md", "a/it's a back\\slash.md")
    put(root, "a/x.txt", "a/x.md.bak", "a/md", "a/xmd")
    found = ["a-b/x.Md", "a/b/y.md", "a/it's a back\\slash.md", "a/z.MD", "b/x.md", "root.md", "支付/超时.md"]
    assert paths(root) == found
    assert problems(root) == {}


def test_u2_names_with_a_dot_in_front_are_skipped(root: Path) -> None:
    put(root, ".git/x.md", ".x.md", "a/.obsidian/x.md", "a/.kbapp-0.tmp", "a/x.md")
    assert paths(root) == ["a/x.md"]


def test_k8_folders_and_pipes_named_like_documents_are_none(root: Path) -> None:
    put(root, "x.md/y.md")
    os.mkfifo(root / "pipe.md")
    assert paths(root) == ["x.md/y.md"]
    assert problems(root) == {}


def test_k8_the_number_of_documents_is_logged(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(root, "a/x.md", "a/y.md", "a/z.txt")
    with caplog.at_level(logging.INFO):
        DocumentFiles(root).scan()
    assert [record.levelno for record in caplog.records] == [logging.INFO]
    assert "found 2 documents" in caplog.text


def test_k8_the_tree_of_the_documents_gives_four_files_and_three_entries(root: Path) -> None:
    put(root, "api/payment.md", "domain/cache.md", "troubleshooting/timeout.md")
    (root / "api/order.md").write_text("# Order\n", encoding="utf-8")
    files = DocumentFiles(root)
    found = files.scan().paths
    assert len(found) == 4
    assert sum(files.read_entry(path) is not None for path in found) == 3


def test_an_empty_folder_holds_no_documents(root: Path) -> None:
    assert paths(root) == []
    assert problems(root) == {}


@pytest.mark.parametrize("name", ["gone", "file.md"])
def test_k8_a_root_that_cannot_be_listed_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.md").touch()
    with pytest.raises(UserError, match=f"{name} cannot be listed .*: create it or set knowledge.base-path"):
        DocumentFiles(tmp_path / name).scan()


def test_u2_links_to_the_outside_are_problems(root: Path, tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.md", "outside/data.txt")
    put(root, "a/x.md")
    (root / "a/link.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "sibling").symlink_to(tmp_path)
    (root / "data.txt").symlink_to(tmp_path / "outside/data.txt")
    assert paths(root) == ["a/x.md"]
    assert set(problems(root)) == {"a/link.md", "folder", "sibling"}
    assert all("leads outside" in error for error in problems(root).values())


def test_k8_loops_of_links_end_and_nothing_is_found_twice(root: Path) -> None:
    put(root, "a/b/x.md")
    (root / "a/b/up").symlink_to(root)
    (root / "a/self").symlink_to(root / "a")
    (root / "again").symlink_to(root / "a/b")
    (root / "again.md").symlink_to(root / "a/b/x.md")
    assert paths(root) == ["a/b/x.md"]
    assert problems(root) == {}


def test_k8_links_that_lead_nowhere_are_problems(root: Path) -> None:
    (root / "loop.md").symlink_to(root / "loop.md")
    (root / "gone.md").symlink_to(root / "not there.md")
    assert paths(root) == []
    assert set(problems(root)) == {"loop.md", "gone.md"}


def test_a_link_to_what_is_not_found_otherwise_is_followed(root: Path) -> None:
    put(root, ".shared/x.md", ".shared/deep/y.md")
    (root / "shared").symlink_to(root / ".shared")
    (root / ".shared/deep/back").symlink_to(root / ".shared")
    assert paths(root) == ["shared/deep/y.md", "shared/x.md"]
    assert problems(root) == {}


def test_a_linked_root_is_read_under_its_own_name(root: Path, tmp_path: Path) -> None:
    put(root, "a/x.md")
    (tmp_path / "docs").symlink_to(root)
    files = DocumentFiles(tmp_path / "docs")
    assert files.scan().paths == ("a/x.md",)
    assert files.base_folder == "docs"
    assert files.read("a/x.md").title == "t"


def test_decomposed_names_are_found_under_their_nfc_path(root: Path) -> None:
    put(root, "cafe\u0301/u\u0308ber.md")
    assert paths(root) == ["café/über.md"]


def test_two_unicode_forms_of_a_name_are_one_document_and_a_problem(root: Path) -> None:
    put(root, "a/e\u0301.md", "e\u0301/y.md")
    (root / "a/é.md").write_text("# composed\n", encoding="utf-8")
    put(root, "é/x.md")
    assert paths(root) == ["a/é.md", "é/x.md"]
    assert set(problems(root)) == {"a/é.md", "é"}
    assert DocumentFiles(root).read("a/é.md").title == "composed"


def test_names_that_are_not_readable_text_are_problems(root: Path) -> None:
    put(root, "a\nb.md", "c\x1b/x.md")
    (root / os.fsdecode(b"latin\xe9.md")).touch()
    assert paths(root) == []
    assert set(problems(root)) == {"a\\nb.md", "c\\x1b", "latin\\udce9.md"}


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder, and a process, without the rights of root."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        if user == 0:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(user)


def test_k8_an_unreadable_folder_is_a_problem_and_the_rest_goes_on(as_nobody: Path) -> None:
    put(as_nobody, "a/x.md", "closed/y.md", "z.md")
    (as_nobody / "closed").chmod(0o000)
    assert paths(as_nobody) == ["a/x.md", "z.md"]
    assert set(problems(as_nobody)) == {"closed"}
    (as_nobody / "closed").chmod(0o755)


def test_an_unreadable_file_is_refused_by_name(as_nobody: Path) -> None:
    put(as_nobody, "a/x.md")
    (as_nobody / "a/x.md").chmod(0o000)
    assert paths(as_nobody) == ["a/x.md"]
    with pytest.raises(UserError, match=r"^a/x\.md cannot be read \(Permission denied\): check its permissions"):
        DocumentFiles(as_nobody).read("a/x.md")


def test_u4_a_folder_without_write_permission_changes_nothing(as_nobody: Path) -> None:
    put(as_nobody, "a/x.md")
    (as_nobody / "a").chmod(0o555)
    as_nobody.chmod(0o555)
    files = DocumentFiles(as_nobody)
    for path in ("a/x.md", "a/new.md", "new/x.md"):
        with pytest.raises(UserError, match=rf"^{path} cannot be written \(Permission denied\)"):
            files.save(path, b"new")
    with pytest.raises(UserError, match=r"^a/x\.md cannot be deleted"):
        files.delete("a/x.md")
    as_nobody.chmod(0o755)
    (as_nobody / "a").chmod(0o755)
    assert [path.name for path in as_nobody.rglob("*")] == ["a", "x.md"]
    assert files.read("a/x.md").title == "t"
