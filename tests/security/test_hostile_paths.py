"""Names, paths and links that lead out of the knowledge base, by every way in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.domain.errors import UserError
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.mcp_documents import SessionDocuments
from tests.knowledge import document, open_for_test, tree, write_documents

SECRET = "not for anybody"
OUTSIDE = [
    "../outside/secret.md",
    "api/../../outside/secret.md",
    "/etc/hosts.md",
    "C:\\secret.md",
    "..\\outside\\secret.md",
    "api/%2e%2e/%2e%2e/outside/secret.md",
    "leak/secret.md",
    "leak.md",
    "api/．．/secret.md",
    "api/a.md/../../x.md",
]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A knowledge base with links to a folder beside it."""
    root, outside = tmp_path / "knowledge_base", tmp_path / "outside"
    write_documents(outside, {"secret.md": document("Secret", "secret", SECRET)})
    write_documents(root, {"api/a.md": document("支付", "支付, alpha", "## 超时\n\n重试。")})
    (root / "leak").symlink_to(outside, target_is_directory=True)
    (root / "leak.md").symlink_to(outside / "secret.md")
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


def test_nothing_outside_is_indexed_or_found(kb: KnowledgeBase) -> None:
    assert [record.path for record in kb.documents()] == ["api/a.md"]
    result = kb.lookup("secret not for anybody", session_id="s")
    assert SECRET not in str(result.to_dict())


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_is_read_or_deleted(kb: KnowledgeBase, tmp_path: Path, path: str) -> None:
    before = tree(tmp_path / "outside")
    for ask in (kb.document, kb.chunks, kb.delete):
        with pytest.raises(UserError):
            ask(path)
    assert tree(tmp_path / "outside") == before


@pytest.mark.parametrize("category", ["..", "../outside", "leak", "/tmp", ".hidden", "a/b", "", "a\x00b", "a\nb"])
def test_nothing_is_uploaded_outside(kb: KnowledgeBase, tmp_path: Path, category: str) -> None:
    before = {path: data for path, data in tree(tmp_path).items() if not path.startswith("state")}
    with pytest.raises(UserError):
        kb.upload("new.md", b"# New\n\ntext", category)
    assert {path: data for path, data in tree(tmp_path).items() if not path.startswith("state")} == before


@pytest.mark.parametrize(
    "name", ["../x.md", "..", "a/b.md", "x.md/..", "x.md\x00.txt", "\u202edm.x.md", ".x.md", "CON.md"]
)
def test_no_name_of_a_file_is_a_path(kb: KnowledgeBase, name: str) -> None:
    with pytest.raises(UserError):
        kb.upload(name, b"# New\n\ntext", "api")
    assert [record.path for record in kb.documents()] == ["api/a.md"]


@pytest.mark.parametrize("title", OUTSIDE)
def test_a_section_title_is_no_path(kb: KnowledgeBase, title: str) -> None:
    result = kb.lookup("alpha", session_id="s", section_title=title)
    assert SECRET not in str(result.to_dict())


@pytest.mark.parametrize("path", [*OUTSIDE, "api/a.md/../../outside/secret.md"])
def test_no_uri_of_a_resource_leads_outside(kb: KnowledgeBase, path: str) -> None:
    kb.lookup("alpha", session_id="s")
    documents = SessionDocuments(kb)
    assert documents.text(f"kbapp://document/{path}", "s") is None
    assert documents.text(f"file:///{path}", "s") is None
    assert documents.text("kbapp://document/api/a.md", "s")
