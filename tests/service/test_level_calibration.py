"""Probe queries against small knowledge bases of the tiny embedder, graded by an evidence profile."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import kbapp.bootstrap as bootstrap
from kbapp.adapters.full_text import FullTextIndex
from kbapp.adapters.profiles import E5_SMALL
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.level_cuts import MIN_CHUNKS
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.row_evidence import row_evidence
from kbapp.probes import probe_queries
from kbapp.service import level_calibration
from kbapp.service.index_report import IndexProgress, IndexStage
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.service.vector_search import VectorSearch
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

PROBES = {
    "everyday-zh": ("红烧肉怎么做", "明天会下雨吗"),
    "technical-en": ("printer driver offline", "shader stays black"),
}


class Counting(TinyEmbedder):
    """Counts the queries that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: list[str] = []

    def embed_queries(self, texts):  # type: ignore[no-untyped-def]
        self.queries += texts
        return super().embed_queries(texts)


@pytest.fixture(autouse=True)
def calibrated_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny embedder has no profile of its own: it borrows one that is graded by evidence."""
    monkeypatch.setattr(bootstrap, "profile_for", lambda model_id: E5_SMALL)
    monkeypatch.setattr(bootstrap, "probe_queries", lambda: PROBES)


def write_chunks(folder: Path, count: int, *, name: str = "ops/a.md") -> None:
    sections = "\n\n".join(f"## 第 {n} 节\n\n支付网关第 {n} 号故障的处置步骤与说明" for n in range(count))
    write_documents(folder / "knowledge_base", {name: document("处置手册", "故障", sections)})


@contextmanager
def opened(folder: Path, embedder: Counting | None = None) -> Iterator[KnowledgeBase]:
    with open_for_test(folder, embedder or Counting()) as kb:
        yield kb


def test_g5_an_indexed_knowledge_base_is_calibrated_by_its_probes_and_its_rows_say_so(tmp_path: Path) -> None:
    write_chunks(tmp_path, MIN_CHUNKS)
    with opened(tmp_path) as kb:
        assert kb.level_cuts is None
        seen: list[IndexProgress] = []
        kb.reindex(seen.append)
        cuts = kb.level_cuts
        assert cuts is not None
        assert (cuts.probes, cuts.chunks) == (4, kb.overview().chunks)
        assert [each.done for each in seen if each.stage is IndexStage.LEVELS] == [0, 1, 2, 3]
        _, row = kb.explained_lookup(LookupRequest("支付网关故障的处置步骤"))
        evidence = row_evidence(row.retrieval_details)
        assert evidence is not None
        assert evidence.profile == cuts.applied_to(E5_SMALL)
        assert not kb.telemetry(limit=10)[1:]  # the probes leave no row


def test_g5_less_than_fifty_chunks_keep_the_cuts_of_the_profile(tmp_path: Path) -> None:
    write_chunks(tmp_path, 5)
    embedder = Counting()
    with opened(tmp_path, embedder) as kb:
        kb.reindex()
        assert kb.level_cuts is None
        assert not embedder.queries


def test_g5_an_unchanged_or_hardly_changed_knowledge_base_is_not_calibrated_again(tmp_path: Path) -> None:
    write_chunks(tmp_path, 2 * MIN_CHUNKS)
    with opened(tmp_path) as kb:
        kb.reindex()
        first = kb.level_cuts
        kb.reindex()
        assert kb.level_cuts == first
        write_documents(tmp_path / "knowledge_base", {"ops/b.md": document("新增", "新", "一段新的说明")})
        kb.reindex()
        assert kb.level_cuts == first


def test_g5_another_knowledge_base_is_calibrated_also_when_every_vector_was_cached(tmp_path: Path) -> None:
    write_chunks(tmp_path, MIN_CHUNKS)
    other = {"ops/a.md": document("别的", "别", "\n\n".join(f"## 节 {n}\n\n红烧肉第 {n} 种做法" for n in range(60)))}
    base = tmp_path / "knowledge_base"
    with opened(tmp_path) as kb:
        kb.reindex()
        first = kb.level_cuts
        write_documents(base, other)
        kb.reindex()
        second = kb.level_cuts
        write_chunks(tmp_path, MIN_CHUNKS)
        kb.reindex()
        third = kb.level_cuts
    assert first is not None
    assert second is not None
    assert third is not None
    assert replace(third, calibrated_at="") == replace(first, calibrated_at="")
    assert second.sketch != first.sketch


def test_g5_a_knowledge_base_that_shrinks_below_fifty_chunks_forgets_its_cuts(tmp_path: Path) -> None:
    write_chunks(tmp_path, MIN_CHUNKS)
    with opened(tmp_path) as kb:
        kb.reindex()
        assert kb.level_cuts is not None
        write_chunks(tmp_path, 3)
        kb.reindex()
        assert kb.level_cuts is None


def test_g5_an_interrupted_calibration_goes_on_from_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(level_calibration, "KEPT_AT_ONCE", 2)
    write_chunks(tmp_path, MIN_CHUNKS)
    embedder = Counting()

    def stop_at_the_third(progress: IndexProgress) -> None:
        if progress.stage is IndexStage.LEVELS and progress.done == 2:
            raise KeyboardInterrupt

    with opened(tmp_path, embedder) as kb:
        with pytest.raises(KeyboardInterrupt):
            kb.reindex(stop_at_the_third)
        assert kb.level_cuts is None
        kb.reindex()
        assert kb.level_cuts is not None
    assert len(embedder.queries) == 4


def test_g5_probes_are_embedded_once(tmp_path: Path) -> None:
    write_chunks(tmp_path, MIN_CHUNKS)
    embedder = Counting()
    with opened(tmp_path, embedder) as kb:
        kb.reindex()
        write_chunks(tmp_path, MIN_CHUNKS, name="ops/c.md")
        kb.reindex()
    assert sorted(embedder.queries) == sorted(probe for group in PROBES.values() for probe in group)


def test_g5_another_process_grades_by_the_same_cuts(tmp_path: Path) -> None:
    write_chunks(tmp_path, MIN_CHUNKS)
    with opened(tmp_path) as kb:
        kb.reindex()
        first = kb.level_cuts
    with opened(tmp_path) as kb:
        assert first is not None
        assert kb.level_cuts == first


def test_g5_cuts_of_another_profile_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_chunks(tmp_path, MIN_CHUNKS)
    with opened(tmp_path) as kb:
        kb.reindex()
    monkeypatch.setattr(bootstrap, "profile_for", lambda model_id: replace(E5_SMALL, bias=-21.0))
    with opened(tmp_path) as kb:
        assert kb.level_cuts is None
        kb.reindex()
        assert kb.level_cuts is not None


def test_g5_what_cannot_be_searched_now_is_said_and_calibrated_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unavailable(*_: object, **__: object) -> None:
        raise IndexUnavailable("the engine is gone")

    write_chunks(tmp_path, MIN_CHUNKS)
    with opened(tmp_path) as kb:
        with monkeypatch.context() as broken, caplog.at_level(logging.WARNING, "kbapp.levels"):
            broken.setattr(VectorSearch, "search", unavailable)
            assert kb.reindex().embedded
        assert "levels are not calibrated now: the engine is gone" in caplog.text
        assert kb.level_cuts is None
        kb.reindex()
        assert kb.level_cuts is not None


def test_g5_without_full_text_nothing_is_calibrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unavailable(*_: object) -> list[object]:
        raise IndexUnavailable("full text is gone")

    write_chunks(tmp_path, MIN_CHUNKS)
    with opened(tmp_path) as kb, caplog.at_level(logging.WARNING, "kbapp.levels"):
        monkeypatch.setattr(FullTextIndex, "search", unavailable)
        kb.reindex()
        assert kb.level_cuts is None
    assert "levels are not calibrated now: full text is gone" in caplog.text


def test_g5_the_shipped_bank_has_three_hundred_probes_in_both_languages_and_none_twice() -> None:
    groups = probe_queries()
    probes = [probe for group in groups.values() for probe in group]
    assert len(probes) == len(set(probes)) >= 300
    for language in ("zh", "en"):
        assert sum(len(group) for name, group in groups.items() if name.endswith(language)) >= 150
    assert {name.rsplit("-", 1)[0] for name in groups} == {"everyday", "fields", "nonsense", "technical"}


def test_g5_no_probe_is_a_labelled_query_or_worded_like_one() -> None:
    labels = Path(__file__).parents[2] / "benchmarks" / "sample_queries.jsonl"
    queries = [set(trigrams(line)) for line in labels.read_text(encoding="utf-8").split("\n") if line]
    for group in probe_queries().values():
        for probe in group:
            own = set(trigrams(probe))
            assert all(len(own & other) <= 0.6 * len(own) for other in queries if own), probe


def trigrams(text: str) -> Iterator[str]:
    return (text[start : start + 3] for start in range(len(text) - 2))


def test_a_lookup_before_the_calibration_is_graded_by_the_profile(tmp_path: Path) -> None:
    write_chunks(tmp_path, 5)
    with opened(tmp_path) as kb:
        kb.reindex()
        _, row = kb.explained_lookup(LookupRequest("支付网关故障的处置步骤"))
        evidence = row_evidence(row.retrieval_details)
        assert evidence is not None
        assert evidence.profile == E5_SMALL
        assert evidence.level in (None, *RelevanceLevel)
