"""An upload before it is saved: what it would become, what is there already, and that nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.domain.errors import UserError
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.previews import Standing
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, tree, write_documents

PAYMENT = document("支付网关", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n重试三次。\n\n### 细节\n\n看日志。", "错误码")


@pytest.fixture
def embedder() -> TinyEmbedder:
    return TinyEmbedder()


@pytest.fixture
def kb(tmp_path: Path, embedder: TinyEmbedder) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", {"api/payment.md": PAYMENT})
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        embedder.texts.clear()
        yield kb


def test_a_preview_holds_the_frontmatter_and_the_chunks_that_the_upload_then_stores(kb: KnowledgeBase) -> None:
    text = PAYMENT.replace("三次", "五次")
    preview = kb.preview("retry.md", text.encode(), "api")
    assert preview.document.frontmatter is not None
    assert preview.document.frontmatter.keywords == ("ERR_TIMEOUT", "超时")
    assert [chunk.breadcrumb for chunk in preview.chunks] == [
        "支付网关 > 超时类错误",
        "支付网关 > 超时类错误 > 细节",
    ]
    kb.upload("retry.md", text.encode(), "api")
    assert preview.chunks == tuple(stored.chunk for stored in kb.chunks("api/retry.md"))


def test_a_preview_writes_and_embeds_nothing(kb: KnowledgeBase, tmp_path: Path, embedder: TinyEmbedder) -> None:
    before, records = tree(tmp_path / "knowledge_base"), kb.documents()
    kb.preview("new.md", b"# New\n\ntext\n", "another")
    kb.preview("payment.md", b"# Other\n", "api")
    assert (tree(tmp_path / "knowledge_base"), kb.documents(), embedder.texts) == (before, records, [])


@pytest.mark.parametrize(
    ("name", "text", "standing"),
    [
        ("new.md", PAYMENT, Standing.NEW),
        ("payment.md", PAYMENT, Standing.SAME),
        ("payment.md", PAYMENT + "more\n", Standing.OTHER),
    ],
)
def test_u6_a_preview_says_what_is_at_its_path(kb: KnowledgeBase, name: str, text: str, standing: Standing) -> None:
    assert kb.preview(name, text.encode(), "api").standing is standing


def test_u6_a_preview_names_another_document_with_the_same_bytes(kb: KnowledgeBase) -> None:
    assert kb.preview("copy.md", PAYMENT.encode(), "docs").identical_to == "api/payment.md"
    assert kb.preview("payment.md", PAYMENT.encode(), "api").identical_to is None
    assert kb.preview("copy.md", b"# Other\n", "docs").identical_to is None


def test_u3_a_broken_frontmatter_is_a_warning_of_the_preview(kb: KnowledgeBase) -> None:
    preview = kb.preview("bad.md", b"---\ntitle: Error: disk full\n---\ntext\n", "api")
    assert "frontmatter" in str(preview.document.warning)
    assert preview.document.frontmatter is None
    assert "disk full" in preview.chunks[0].content


@pytest.mark.parametrize(
    ("name", "data", "category", "reason"),
    [
        ("notes.txt", b"text", "api", "only Markdown files"),
        ("../up.md", b"text", "api", "is a path"),
        ("x.md", b"text", "a/b", "the category"),
        ("x.md", b"text", "", "is empty"),
        ("x.md", b"\x00\x01\x02\xff", "api", "cannot be read"),
    ],
)
def test_u2_what_an_upload_would_refuse_its_preview_refuses_with_the_same_sentence(
    kb: KnowledgeBase, name: str, data: bytes, category: str, reason: str
) -> None:
    with pytest.raises(UserError, match=reason) as previewed:
        kb.preview(name, data, category)
    with pytest.raises(UserError) as uploaded:
        kb.upload(name, data, category)
    assert str(previewed.value) == str(uploaded.value)


def test_a_document_is_read_as_its_file_is_now(kb: KnowledgeBase, tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/payment.md": PAYMENT + "\nnew line\n"})
    assert kb.document("knowledge_base/api/payment.md").body.endswith("\nnew line\n")
    with pytest.raises(UserError, match="is not there"):
        kb.document("api/none.md")
