"""T7: from the row alone follows the level, whatever was found and whichever files can be read."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.profiles import BGE_M3, E5_SMALL, USE_MULTILINGUAL
from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.documents import Document, KnowledgeEntry
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.explanation import explain, recompute_level
from kbapp.domain.fusion import FusedHit
from kbapp.domain.invocation import Invocation
from kbapp.domain.keyword_matching import KeywordMatch, MatchTier
from kbapp.domain.relevance import (
    WORDS_ALONE,
    CandidateEvidence,
    HintLanguage,
    RelevanceLevel,
    RelevanceProfile,
    Thresholds,
    level_of,
)
from kbapp.service.gate import Gate
from kbapp.service.grading import GradingInForce
from kbapp.service.lookup import Lookup, LookupOptions, LookupRequest
from kbapp.service.vector_search import Candidate, SearchOutcome
from kbapp.service.warm_results import WarmResults
from tests.values import grading_in_force, make_chunk

MIN_COVERAGE = 0.4
TEXTS = {"with": b"# T\n\n## S\n\ntext\n", "without": b"# T\n\n## Other\n\ntext\n"}


@dataclass(frozen=True)
class Knowledge:
    """What the three ports say: coverages of the L0 matches, evidence of the L1 candidates, files by path."""

    coverages: tuple[float, ...] | None
    found: tuple[CandidateEvidence, ...] | None
    files: tuple[str, ...]
    tier: MatchTier
    profile: RelevanceProfile
    thresholds: Thresholds

    base_folder = "knowledge_base"

    @property
    def grading(self) -> GradingInForce:
        return grading_in_force(self.profile, self.thresholds)

    def match(self, query: str) -> Sequence[KeywordMatch]:
        if self.coverages is None:
            raise IndexUnavailable("no L0")
        entries = [KnowledgeEntry(f"{number}.md", "T", ("k",), None) for number in range(len(self.coverages))]
        return [KeywordMatch(entry, self.tier, 1.0, (), c) for entry, c in zip(entries, self.coverages, strict=True)]

    def search(self, query: str, *, alternatives: int = 0) -> SearchOutcome:
        if self.found is None:
            raise IndexUnavailable("no L1")
        candidates = []
        for rank, evidence in enumerate(self.found):
            stored = make_chunk("text", path=f"{rank}.md", document_id=f"d{rank}")
            similarity = self.profile.similarity(evidence, self.thresholds)
            level = level_of(similarity, self.thresholds)
            candidates.append(Candidate(stored, FusedHit(stored.id, rank + 1, None), evidence, similarity, level))
        problem = "no vectors" if self.profile is WORDS_ALONE else None
        return SearchOutcome(tuple(candidates), self.grading.now(), 3, 1.0, 1.0, problem)

    def read(self, path: str) -> Document:
        kind = self.files[int(path.removesuffix(".md"))]
        if kind not in TEXTS:
            raise UserError(f"{path} cannot be read")
        return DocumentFiles(Path()).parse(path, TEXTS[kind])


NEAR = [0.0, 0.5, 0.5 + 1e-9, 0.5 - 1e-9, 1.0, 1.0 + 1e-9, 2.0, 4.0]
DISTANCES = st.sampled_from(NEAR) | st.floats(0, 4)
SHARES = st.sampled_from([0.0, MIN_COVERAGE, MIN_COVERAGE - 1e-9, 1.0]) | st.floats(0, 1)
WEIGHTS = st.sampled_from([0.0, 10.0]) | st.floats(0, 100)
COUNTS = st.integers(0, 30)
EVIDENCE = st.builds(CandidateEvidence, DISTANCES, WEIGHTS, WEIGHTS, WEIGHTS, COUNTS, COUNTS, st.booleans())
THRESHOLDS = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda pair: Thresholds(2.0, max(pair), min(pair)))
WORDS = st.builds(CandidateEvidence, st.none(), WEIGHTS, WEIGHTS, WEIGHTS, COUNTS, COUNTS, st.booleans())
WITHOUT_VECTORS = st.builds(
    Knowledge,
    coverages=st.none() | st.lists(SHARES, max_size=3).map(tuple),
    found=st.lists(WORDS, max_size=3).map(tuple),
    files=st.tuples(*[st.sampled_from([*TEXTS, "unreadable"])] * 3),
    tier=st.sampled_from(MatchTier),
    profile=st.just(WORDS_ALONE),
    thresholds=st.just(Thresholds()) | THRESHOLDS,
)
WITH_VECTORS = st.builds(
    Knowledge,
    coverages=st.none() | st.lists(SHARES, max_size=3).map(tuple),
    found=st.none() | st.lists(EVIDENCE, max_size=3).map(tuple),
    files=st.tuples(*[st.sampled_from([*TEXTS, "unreadable"])] * 3),
    tier=st.sampled_from(MatchTier),
    profile=st.sampled_from([BGE_M3, E5_SMALL, USE_MULTILINGUAL]),
    thresholds=st.just(Thresholds()) | THRESHOLDS,
)
KNOWLEDGE = WITH_VECTORS | WITHOUT_VECTORS


def invocation_of(knowledge: Knowledge, section: str | None) -> Invocation:
    """The row of one lookup, through JSON as the database keeps it."""
    lookup = Lookup(
        keywords=knowledge,  # type: ignore[arg-type]  # a part of the port
        files=knowledge,  # type: ignore[arg-type]  # a part of the port
        search=knowledge,  # type: ignore[arg-type]  # a part of VectorSearch
        options=LookupOptions(2000, MIN_COVERAGE, DomainPolicy.BLOCK, HintLanguage.EN),
        warm=WarmResults(knowledge, 0.0, time.time),  # type: ignore[arg-type]  # a part of the port
        gate=Gate(1, 0.0),
    )
    return lookup.run(LookupRequest("query", section_title=section)).invocation


NEARLY = Knowledge((), (CandidateEvidence(0.5 + 1e-9),), ("with",), MatchTier.PARTIAL, BGE_M3, Thresholds())
SECOND_HAS_THE_SECTION = Knowledge(
    (),
    (CandidateEvidence(0.9), CandidateEvidence(0.1)),
    ("without", "with"),
    MatchTier.PARTIAL,
    BGE_M3,
    Thresholds(),
)


@example(NEARLY, None)
@example(SECOND_HAS_THE_SECTION, "S")
@given(KNOWLEDGE, st.sampled_from([None, "S"]))
def test_t7_recomputing_the_level_from_the_row_gives_the_level(knowledge: Knowledge, section: str | None) -> None:
    invocation = invocation_of(knowledge, section)
    details = json.loads(json.dumps(invocation.retrieval_details, ensure_ascii=False, allow_nan=False))
    level = recompute_level(details)
    assert level == invocation.relevance_level
    assert details["level_before_dedup"] == level
    decision = explain(invocation).decision
    assert decision.startswith(level or "Not found")
    assert "although" not in decision


@example(SECOND_HAS_THE_SECTION)
@given(KNOWLEDGE)
def test_g5_the_similarity_of_the_row_is_the_one_that_was_graded(knowledge: Knowledge) -> None:
    details = invocation_of(knowledge, "S").retrieval_details
    level, similarity = details["level_before_dedup"], details["l1_top_similarity"]
    if level is not None and knowledge.found and details["section_candidate"] is not None:
        assert isinstance(similarity, float)
        assert level_of(similarity, knowledge.thresholds) == RelevanceLevel(str(level))
