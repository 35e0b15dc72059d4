"""Whatever an embedder gives in place of unit vectors: words answer, a document waits, nothing is made up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.domain.invocation import Outcome
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.knowledge_base import KnowledgeBase
from tests.faults import BAD_EMBEDDINGS, DOCUMENTS, NEW, BadEmbedder, Fault, asked, database_of, substance
from tests.knowledge import open_for_test, write_documents


@pytest.fixture
def embedder() -> BadEmbedder:
    return BadEmbedder()


@pytest.fixture
def kb(tmp_path: Path, embedder: BadEmbedder) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        yield kb


@pytest.mark.parametrize("bad", BAD_EMBEDDINGS.values(), ids=BAD_EMBEDDINGS)
@pytest.mark.filterwarnings("error")
def test_a_query_that_cannot_be_embedded_is_answered_by_words_and_never_by_a_made_up_vector(
    kb: KnowledgeBase, embedder: BadEmbedder, bad: Fault
) -> None:
    expected = substance(asked(kb)[0])
    embedder.bad = bad
    result, row = asked(kb)
    assert result.supplement is not None
    assert result.supplement.source == "knowledge_base/api/refund.md"
    assert result.relevance_level is RelevanceLevel.REFERENCE
    assert "语义检索暂不可用" in str(result.degraded)
    assert (row.outcome, row.embed_ms, row.retrieval_details["l1_scores"]) == (Outcome.DEGRADED, None, [])
    assert row.retrieval_details["search_problem"]
    embedder.bad = None
    assert substance(asked(kb)[0]) == expected


@pytest.mark.parametrize("bad", BAD_EMBEDDINGS.values(), ids=BAD_EMBEDDINGS)
@pytest.mark.filterwarnings("error")
def test_a_document_that_cannot_be_embedded_says_so_and_is_indexed_by_the_next_refresh(
    kb: KnowledgeBase, embedder: BadEmbedder, tmp_path: Path, bad: Fault
) -> None:
    embedder.bad = bad
    uploaded = kb.upload("new.md", NEW, "api")
    assert uploaded.outcome == "failed"
    assert uploaded.record.error
    assert (tmp_path / "knowledge_base" / "api" / "new.md").read_bytes() == NEW
    with database_of(tmp_path) as connection:
        assert connection.execute("SELECT count(*) FROM embedding_cache").fetchone()[0] == len(DOCUMENTS)
    embedder.bad = None
    kb.refresh()
    assert kb.health().consistent
    assert asked(kb, "这份文档讲的是对账单吗")[0].supplement is not None
