from __future__ import annotations

from pathlib import Path

import pytest

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.errors import UserError
from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.domain.row_evidence import row_evidence
from kbapp.service.lookup import LookupRequest
from kbapp.settings import Settings
from tests.embedding import TinyEmbedder
from tests.knowledge import document, write_documents

QUERY = "支付网关 连接 超时 怎么办"


def settings_of(folder: Path) -> Settings:
    return Settings.load(
        overrides={
            "knowledge.base-path": str(folder / "knowledge_base"),
            "state-dir": str(folder / "state"),
        },
        environ={},
        config=folder / "kbapp.yaml",
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    write_documents(
        tmp_path / "knowledge_base", {"ops/a.md": document("处置", "无关", "摘要", "支付网关连接超时的处置办法")}
    )
    (tmp_path / "kbapp.yaml").write_text("# ours\n", encoding="utf-8")
    return settings_of(tmp_path)


def test_g4_applied_thresholds_judge_the_next_lookup_and_the_next_start(settings: Settings, tmp_path: Path) -> None:
    with open_knowledge_base(settings, embedder=TinyEmbedder()) as kb:
        kb.reindex()
        _, before = kb.explained_lookup(LookupRequest(QUERY))
        similarity = before.retrieval_details["l1_top_similarity"]
        assert isinstance(similarity, float)
        file = kb.apply_thresholds(reference=similarity, highly_relevant=similarity)
        assert kb.lookup(QUERY).relevance_level is RelevanceLevel.HIGHLY_RELEVANT
        kb.apply_thresholds(reference=similarity, highly_relevant=min(1.0, similarity + 0.01))
        assert kb.lookup(QUERY).relevance_level is RelevanceLevel.REFERENCE
    assert file == tmp_path / "kbapp.yaml"
    with open_knowledge_base(settings_of(tmp_path), embedder=TinyEmbedder()) as kb:
        assert kb.thresholds == Thresholds(highly_relevant=min(1.0, similarity + 0.01), reference=similarity)


def test_what_if_of_a_row_is_what_the_lookup_does_under_those_thresholds(settings: Settings) -> None:
    with open_knowledge_base(settings, embedder=TinyEmbedder()) as kb:
        kb.reindex()
        _, row = kb.explained_lookup(LookupRequest(QUERY))
        evidence = row_evidence(row.retrieval_details)
        assert evidence is not None
        for reference, highly in ((0.0, 0.1), (0.2, 1.0), (1.0, 1.0)):
            kb.apply_thresholds(reference=reference, highly_relevant=highly)
            result = kb.lookup(QUERY)
            what_if = evidence.under(Thresholds(highly_relevant=highly, reference=reference))
            assert what_if.level is result.relevance_level
            assert (what_if.document is not None) == result.found


@pytest.mark.parametrize(("reference", "highly"), [(0.8, 0.7), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5)])
def test_thresholds_out_of_order_are_refused_and_nothing_changes(
    settings: Settings, tmp_path: Path, reference: float, highly: float
) -> None:
    with open_knowledge_base(settings, embedder=TinyEmbedder()) as kb:
        with pytest.raises(UserError, match="between 0 and 1"):
            kb.apply_thresholds(reference=reference, highly_relevant=highly)
        assert kb.thresholds == Thresholds()
    assert (tmp_path / "kbapp.yaml").read_text(encoding="utf-8") == "# ours\n"
