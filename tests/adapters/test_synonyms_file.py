"""``synonyms.yaml`` on the disk: missing, broken, mended (K6)."""

import logging
from pathlib import Path

import pytest

from kbapp.adapters.document_files import DocumentFiles
from kbapp.domain.synonyms import NO_SYNONYMS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "synonyms.yaml"


@pytest.fixture
def files(tmp_path: Path) -> DocumentFiles:
    return DocumentFiles(tmp_path, max_file_size=1_000)


def test_k6_a_missing_file_says_nothing(files: DocumentFiles, caplog: pytest.LogCaptureFixture) -> None:
    assert files.read_synonyms() == NO_SYNONYMS
    assert caplog.records == []


def test_k6_the_file_is_read_as_it_is_now_and_is_no_document(files: DocumentFiles, file: Path) -> None:
    file.write_text("- [熔断, 断路器]\n", encoding="utf-8-sig")
    assert files.read_synonyms().groups == (("熔断", "断路器"),)
    file.write_text("- [甲, 乙]\r\n", encoding="utf-8", newline="")
    assert files.read_synonyms().groups == (("甲", "乙"),)
    assert files.scan().paths == ()
    file.unlink()
    assert files.read_synonyms() == NO_SYNONYMS


def test_k6_a_broken_file_is_warned_of_once_until_it_changes(
    files: DocumentFiles, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for text in ("- [a, b\n", "- [a, b\n", "- [a, b]\n", "- a\n"):
        file.write_text(text, encoding="utf-8")
        files.read_synonyms()
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert [record.getMessage()[:22] for record in caplog.records] == [
        "synonyms.yaml: line 2:",
        "synonyms.yaml: line 1:",
    ]


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" + bytes(100), b"- [a, b]\n" * 200])
def test_k6_a_file_that_cannot_be_read_is_a_problem(files: DocumentFiles, file: Path, data: bytes) -> None:
    file.write_bytes(data)
    found = files.read_synonyms()
    assert found.groups == ()
    assert "synonyms are left out" in str(found.problem)


def test_k6_a_folder_of_that_name_is_a_problem(files: DocumentFiles, file: Path) -> None:
    file.mkdir()
    assert "synonyms are left out" in str(files.read_synonyms().problem)


def test_k6_a_link_out_of_the_folder_is_not_followed(files: DocumentFiles, file: Path) -> None:
    outside = file.parent.parent / "outside.yaml"
    outside.write_text("- [a, b]\n", encoding="utf-8")
    file.symlink_to(outside)
    assert "leads outside" in str(files.read_synonyms().problem)
