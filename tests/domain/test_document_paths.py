"""Names and paths of documents (U2)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.document_paths import document_path, is_document_name, relative_path
from kbapp.domain.errors import UserError


@pytest.mark.parametrize(
    ("name", "category", "path"),
    [
        ("payment-errors.md", "api", "api/payment-errors.md"),
        ("README.MD", "guides", "guides/README.MD"),
        ("支付网关 错误码（新）.md", "支付", "支付/支付网关 错误码（新）.md"),
        ("it's.md", "api", "api/it's.md"),
        ("🚀.md", "api", "api/🚀.md"),
        ("a..b.md", "v1.2", "v1.2/a..b.md"),
        ("console.md", "common", "common/console.md"),
        ("x" * 252 + ".md", "api", "api/" + "x" * 252 + ".md"),
        (unicodedata.normalize("NFD", "é.md"), unicodedata.normalize("NFD", "é"), "é/é.md"),
    ],
)
def test_u2_a_plain_name_in_a_category_is_a_path(name: str, category: str, path: str) -> None:
    assert document_path(name, category) == path


HOSTILE = {
    "../../x.md": "is a path",
    "/etc/x.md": "is a path",
    "..\\x.md": "is a path",
    "a/../../b.md": "is a path",
    "back\\slash.md": "is a path",
    "..": "is a path",
    "C:\\x.md": "is a path",
    "C:x.md": "Windows cannot store it",
    'a" or id > 0 or document == "b.md': "Windows cannot store it",
    "what?.md": "Windows cannot store it",
    "con.md": "reserved name",
    "NUL.tar.md": "reserved name",
    "com1.md": "reserved name",
    "lpt³ .md": "reserved name",
    "": "is empty",
    "  ": "is empty",
    ".": "starts with a dot",
    ".md": "starts with a dot",
    ".hidden.md": "starts with a dot",
    " x.md": "starts with a dot or a space",
    "x.md.": "ends with one",
    "x.md ": "ends with one",
    "\u3000x.md": "starts with a dot or a space",
    "a\0.md": "control characters",
    "a\n.md": "control characters",
    "a\u202egpj.md": "control characters",
    "a\ud800.md": "control characters",
    "x" * 253 + ".md": "longer than 255 bytes",
    "支" * 85 + ".md": "longer than 255 bytes",
}


@pytest.mark.parametrize(("name", "reason"), HOSTILE.items())
def test_u2_a_hostile_name_is_refused_with_a_reason(name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        document_path(name, "api")
    str(caught.value).encode()
    assert str(caught.value).startswith("the file name ")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("name", "reason"), HOSTILE.items())
def test_u2_a_hostile_category_is_refused_with_a_reason(name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught:
        document_path("x.md", name)
    assert str(caught.value).startswith("the category ")


@pytest.mark.parametrize("name", ["x.txt", "x", "x.md.exe", "md", "x.markdown", "xmd"])
def test_u2_only_markdown_is_accepted(name: str) -> None:
    with pytest.raises(UserError, match=r"does not end in \.md"):
        document_path(name, "api")
    assert not is_document_name(name)


@given(st.text(max_size=20), st.text(max_size=20))
def test_u2_what_is_accepted_is_one_file_in_one_folder(name: str, category: str) -> None:
    try:
        path = document_path(f"{name}.md", category)
    except UserError:
        return
    assert path.count("/") == 1
    assert path == relative_path(path, "knowledge_base")
    assert unicodedata.is_normalized("NFC", path)


@pytest.mark.parametrize(
    ("given_path", "path"),
    [
        ("api/x.md", "api/x.md"),
        ("x.MD", "x.MD"),
        ("./a/b/c.md", "a/b/c.md"),
        ("支付/e\u0301.md", "支付/é.md"),
        ("a\\b.md", "a\\b.md"),
    ],
)
def test_u2_a_relative_path_is_taken(given_path: str, path: str) -> None:
    assert relative_path(given_path, "knowledge_base") == path


@pytest.mark.parametrize(
    "path", ["../x.md", "api/../../x.md", "/etc/x.md", "C:/x.md", "c:x.md", "api/..", "//host/x.md"]
)
def test_u2_a_path_outside_is_refused(path: str) -> None:
    with pytest.raises(UserError, match="leads outside the knowledge base"):
        relative_path(path, "knowledge_base")


@pytest.mark.parametrize("path", ["", ".", "api", "api/x.txt", "api//x.md", ".git/x.md", "api/.x.md", "api/x.md/"])
def test_u2_what_cannot_be_a_document_is_refused(path: str) -> None:
    with pytest.raises(UserError, match="is not a document"):
        relative_path(path, "knowledge_base")


def test_u2_a_path_with_control_characters_is_refused() -> None:
    with pytest.raises(UserError, match=r"a\\x00\.md"):
        relative_path("a\0.md", "knowledge_base")
