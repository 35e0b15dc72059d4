"""Documents read from files (F, K7, U2)."""

import logging
import os
from pathlib import Path

import pytest

from kbapp.adapters.document_files import DocumentFiles
from kbapp.domain.documents import KnowledgeEntry, TitleSource
from kbapp.domain.errors import UserError
from kbapp.domain.frontmatter import FrontmatterAliases
from kbapp.domain.hashing import sha256_hex

PAYMENT = """---
title: 支付网关错误码
keywords: [ERR_TIMEOUT, 超时]
summary: 错误码
---

# 正文

请检查网关与渠道之间的连接。
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "knowledge_base"
    folder.mkdir()
    return folder


@pytest.fixture
def files(root: Path) -> DocumentFiles:
    return DocumentFiles(root)


def put(root: Path, path: str, content: str | bytes) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def test_f1_a_document_is_read(root: Path, files: DocumentFiles) -> None:
    put(root, "api/payment.md", PAYMENT)
    document = files.read("api/payment.md")
    assert (document.path, document.domain) == ("api/payment.md", "api")
    assert (document.title, document.title_source) == ("支付网关错误码", TitleSource.FRONTMATTER)
    assert (document.body, document.body_first_line, document.literal_lines) == (PAYMENT.split("---\n")[2], 6, 0)
    assert document.content_hash == sha256_hex(PAYMENT.encode())
    assert document.warning is None
    assert document.entry == KnowledgeEntry("api/payment.md", "支付网关错误码", ("ERR_TIMEOUT", "超时"), "错误码")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_f5_every_encoding_gives_the_same_document(root: Path, files: DocumentFiles, encoding: str) -> None:
    put(root, "a.md", PAYMENT)
    put(root, "b.md", PAYMENT.replace("\n", "\r\n").encode(encoding))
    a, b = files.read("a.md"), files.read("b.md")
    assert (b.title, b.frontmatter, b.body, b.body_first_line) == (a.title, a.frontmatter, a.body, a.body_first_line)


@pytest.mark.parametrize(
    ("text", "title", "source"),
    [
        ("---\ntitle: 标题\n---\n# H1\n", "标题", TitleSource.FRONTMATTER),
        ("---\nkeywords: [a1]\n---\n## H2\n\n# H1\n\n# Other\n", "H1", TitleSource.HEADING),
        ("text\n\nTitle\n=====\n", "Title", TitleSource.HEADING),
        ("```\n# code\n```\n## H2\n", "payment-errors", TitleSource.FILE_NAME),
        ("---\ntitle: a: b\n# 正文\n---\n", "payment-errors", TitleSource.FILE_NAME),
        ("", "payment-errors", TitleSource.FILE_NAME),
    ],
)
def test_f7_the_title_is_the_frontmatters_then_the_first_h1_then_the_file_name(
    root: Path, files: DocumentFiles, text: str, title: str, source: TitleSource
) -> None:
    put(root, "api/payment-errors.md", text)
    document = files.read("api/payment-errors.md")
    assert (document.title, document.title_source) == (title, source)


@pytest.mark.parametrize(
    ("text", "is_entry"),
    [
        (PAYMENT, True),
        ("---\ntitle: t\n---\n", True),
        ("---\nkeywords: [a1]\n---\n# H1\n", True),
        ("---\nkeywords: [a1]\n---\ntext\n", True),
        ("---\nsummary: s\ncategory: api\n---\n# H1\n", False),
        ("# H1\n", False),
        ("---\ntitle: a: b\n---\n# H1\n", False),
    ],
)
def test_f8_an_entry_needs_a_title_or_a_keyword(root: Path, files: DocumentFiles, text: str, is_entry: bool) -> None:
    put(root, "api/x.md", text)
    assert (files.read_entry("api/x.md") is not None) == is_entry
    assert files.read_entry("api/x.md") == files.read("api/x.md").entry


def test_f7_aliases_are_passed_on(root: Path) -> None:
    put(root, "x.md", "---\nlabels: [a1]\n---\n")
    assert DocumentFiles(root).read("x.md").entry is None
    assert DocumentFiles(root, aliases=FrontmatterAliases(keywords=("labels",))).read("x.md").entry is not None


def test_f3_malformed_frontmatter_is_warned_of_once_by_name(
    root: Path, files: DocumentFiles, caplog: pytest.LogCaptureFixture
) -> None:
    put(root, "api/x.md", "---\ntitle: Error: disk full\n---\n# 正文\n")
    document = files.read("api/x.md")
    assert files.read_entry("api/x.md") is None
    assert files.read("api/x.md") == document
    assert (document.body.count("\n"), document.literal_lines) == (4, 3)
    assert document.warning is not None
    records = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.getMessage() for record in records] == [f"api/x.md: {document.warning}"]
    put(root, "api/x.md", "---\ntitle: Error: still wrong\n---\n# 正文\n")
    files.read("api/x.md")
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 2


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b" \n\n"])
def test_an_empty_file_is_a_document_with_a_warning(root: Path, files: DocumentFiles, data: bytes) -> None:
    put(root, "x.md", data)
    document = files.read("x.md")
    assert document.warning is not None
    assert "empty" in document.warning


def test_a_missing_file_is_named(files: DocumentFiles) -> None:
    for path in ("api/gone.md", "支付/没有.md"):
        with pytest.raises(UserError, match=f"^{path} is not there: .*index again$"):
            files.read(path)
        with pytest.raises(UserError, match=path):
            files.read_entry(path)


def test_u2_a_file_beyond_the_limit_is_refused_with_both_sizes(root: Path) -> None:
    files = DocumentFiles(root, max_file_size=1000)
    put(root, "x.md", "x" * 1000)
    assert len(files.read_bytes("x.md")) == 1000
    put(root, "x.md", "x" * 1001)
    for call in (files.read_bytes, files.read, files.read_entry, lambda path: files.parse(path, b"x" * 1001)):
        with pytest.raises(UserError, match=r"^x\.md has 1,001 bytes, .* 1,000 of knowledge\.max-file-size: "):
            call("x.md")


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\0\0\0", "café naïve Größe".encode("latin-1"), b"\xff\xfea"],
    ids=["png", "latin-1", "cut"],
)
def test_f5_an_unreadable_text_is_refused_by_name(root: Path, files: DocumentFiles, data: bytes) -> None:
    put(root, "api/x.md", data)
    for call in (files.read, files.read_entry):
        with pytest.raises(UserError, match=r"^api/x\.md cannot be read: .*save it as UTF-8"):
            call("api/x.md")
    assert (root / "api/x.md").read_bytes() == data


def test_a_folder_and_a_pipe_are_no_documents(root: Path, files: DocumentFiles) -> None:
    (root / "x.md").mkdir()
    os.mkfifo(root / "pipe.md")
    for path in ("x.md", "pipe.md"):
        with pytest.raises(UserError, match=f"{path} is not a regular file"):
            files.read(path)


@pytest.mark.parametrize("path", ["../x.md", "/etc/passwd", "api/../../x.md", "", "api//x.md", "./x.md", "a\0.md"])
def test_u2_a_path_outside_is_never_read(files: DocumentFiles, path: str) -> None:
    with pytest.raises(UserError, match="not a path inside knowledge_base/"):
        files.read(path)


def test_u2_a_link_to_the_outside_is_never_read(root: Path, files: DocumentFiles, tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.md", "secret")
    (root / "link.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    for path in ("link.md", "folder/secret.md"):
        with pytest.raises(UserError, match=f"{path} leads outside knowledge_base/ by a link"):
            files.read(path)


def test_a_link_inside_is_read(root: Path, files: DocumentFiles) -> None:
    put(root, ".shared/text.txt", "# 共享\n")
    (root / "link.md").symlink_to(root / ".shared/text.txt")
    assert files.read("link.md").title == "共享"


def test_a_name_in_decomposed_form_is_found_by_its_nfc_path(root: Path, files: DocumentFiles) -> None:
    put(root, "cafe\u0301/u\u0308ber.md", "# Über\n")
    assert files.read("café/über.md").title == "Über"


def test_k7_the_first_characters_are_read_and_dots_appended_only_when_cut(root: Path, files: DocumentFiles) -> None:
    put(root, "api/x.md", "支" * 2000)
    assert files.read_document("api/x.md", 2000) == "支" * 2000
    put(root, "api/x.md", "支" * 2001)
    assert files.read_document("api/x.md", 2000) == "支" * 2000 + "..."
    assert files.read_document("knowledge_base/api/x.md", 3) == "支支支..."


def test_k7_a_missing_file_is_an_error_in_the_log_and_none(
    files: DocumentFiles, caplog: pytest.LogCaptureFixture
) -> None:
    assert files.read_document("api/gone.md", 2000) is None
    assert [(record.levelno, record.exc_info) for record in caplog.records] == [(logging.ERROR, None)]
    assert "api/gone.md" in caplog.text


def test_resolve_accepts_a_path_with_or_without_the_base_folder(root: Path, files: DocumentFiles) -> None:
    for path in ("api/x.md", "knowledge_base/api/x.md", "./knowledge_base/api/x.md", "./api/x.md"):
        assert files.resolve(path) == "api/x.md"
    put(root, "knowledge_base/api/x.md", "inner")
    assert files.resolve("knowledge_base/api/x.md") == "knowledge_base/api/x.md"
    assert files.resolve("api/x.md") == "api/x.md"
    assert files.base_folder == "knowledge_base"


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x.md", "knowledge_base/../x.md", "C:/x.md", "x.txt", "", "knowledge_base", ".x.md"]
)
def test_u2_resolve_refuses_what_is_no_document_inside(files: DocumentFiles, path: str) -> None:
    with pytest.raises(UserError, match=r"knowledge_base/|outside the knowledge base"):
        files.resolve(path)
