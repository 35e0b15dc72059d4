"""A dead embedding endpoint takes L1 away and nothing else."""

from __future__ import annotations

from pathlib import Path

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.documents import DocumentStatus
from kbapp.domain.relevance import RelevanceLevel
from tests.knowledge import document, settings_for, write_documents


def test_q7_l0_answers_and_documents_say_why_they_are_not_indexed(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/a.md": document("支付", "ERR_TIMEOUT", "请求超时。")})
    settings = settings_for(tmp_path, embedding__model="openai:gone", embedding__base_url="http://127.0.0.1:9/v1")
    with open_knowledge_base(settings) as kb:
        report = kb.reindex()
        assert [problem.path for problem in report.failed] == ["api/a.md"]
        assert kb.documents()[0].status is DocumentStatus.FAILED
        assert kb.lookup("ERR_TIMEOUT").relevance_level is RelevanceLevel.PRECISE
        assert "127.0.0.1:9" in str(kb.lookup("别的问题").degraded)
        assert kb.health().problems
