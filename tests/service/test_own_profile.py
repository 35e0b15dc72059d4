"""A profile of this knowledge base's own, from the settings (G5)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

import pytest

from kbapp.adapters.profiles import E5_SMALL, profile_name
from kbapp.domain.errors import UserError
from kbapp.domain.level_cuts import MIN_CHUNKS, LevelCuts, fingerprint
from kbapp.domain.relevance import DistanceProfile, EvidenceProfile, Thresholds
from kbapp.domain.row_evidence import row_evidence
from kbapp.service.grading import GradingInForce
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.settings import Settings
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents
from tests.values import NoSettingsFile

NAMES = [each.name for each in fields(EvidenceProfile) if each.name not in ("name", "provisional", "has_own_cuts")]
WEIGHTS = {name: 0.25 * place for place, name in enumerate(NAMES, start=1)}
OWN = EvidenceProfile("tiny:64", provisional=False, has_own_cuts=True, **WEIGHTS)
SETTINGS = {f"retrieval__profile__{name}": str(value) for name, value in WEIGHTS.items()}
QUERY = "支付网关故障的处置步骤"


def opened(folder: Path, embedder: TinyEmbedder, settings: Mapping[str, str] = SETTINGS) -> KnowledgeBase:
    sections = "\n\n".join(f"## 第 {n} 节\n\n支付网关第 {n} 号故障的处置步骤与说明" for n in range(MIN_CHUNKS))
    write_documents(folder / "knowledge_base", {"ops/a.md": document("处置手册", "故障", sections)})
    return open_for_test(folder, embedder, **settings)


def graded_by(kb: KnowledgeBase) -> object:
    _, row = kb.explained_lookup(LookupRequest(QUERY))
    evidence = row_evidence(row.retrieval_details)
    assert evidence is not None
    return evidence.profile


def test_g5_a_knowledge_base_is_graded_by_its_own_profile_which_no_probe_moves(tmp_path: Path) -> None:
    embedder = TinyEmbedder()
    with opened(tmp_path, embedder, {**SETTINGS, "retrieval__profile__model": "tiny:64"}) as kb:
        kb.reindex()
        assert graded_by(kb) == OWN
        assert kb.level_cuts is None
        assert all("支付网关" in text for text in embedder.texts)  # none of the probes


def test_g5_a_profile_of_another_model_is_left_out_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kbapp")
    settings = {**SETTINGS, "retrieval__profile__model": "bundled:multilingual-e5-small"}
    with opened(tmp_path, TinyEmbedder(), settings) as kb:
        kb.reindex()
        assert graded_by(kb) == DistanceProfile("tiny:64", provisional=True)
    said = [record.message for record in caplog.records if "retrieval.profile" in record.message]
    assert said == [
        "retrieval.profile is of the model bundled:multilingual-e5-small and left out: the model is tiny:64 now, and"
        " `kbapp calibrate FILE --apply` makes its profile"
    ]


def test_g5_without_a_model_there_is_no_own_profile_and_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path, TinyEmbedder()) as kb:
        kb.reindex()
        assert graded_by(kb) == DistanceProfile("tiny:64", provisional=True)
    assert "retrieval.profile" not in caplog.text


def test_g5_a_model_keeps_its_name_whoever_made_the_profile() -> None:
    assert profile_name("bundled:multilingual-e5-small") == profile_name("intfloat/multilingual-e5-small")
    assert profile_name("openai:some-model") == "openai:some-model"


def test_g5_stored_cuts_of_probes_do_not_move_a_profile_that_has_its_own() -> None:
    own = replace(E5_SMALL, has_own_cuts=True)
    moved = LevelCuts("", reference=-3.0, highly_relevant=1.4, probes=4, chunks=1, sketch=(), calibrated_at="")
    for profile, expected in ((own, own), (E5_SMALL, moved.applied_to(E5_SMALL))):
        stored = replace(moved, profile=fingerprint(profile)).to_json()
        grading = GradingInForce(profile, Thresholds(), NoSettingsFile(), stored.strip)
        assert grading.now().profile == expected
        assert (grading.cuts() is None) is profile.has_own_cuts


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("reference-logit", "1.0", "retrieval.profile is not usable: .*reference-logit is not below highly-relevant-l"),
        ("highly-relevant-logit", "-0.5", "reference-logit is not below highly-relevant-logit"),
        ("bias", "nan", "setting retrieval.profile.bias is not usable"),
        ("cosine-weight", "inf", "setting retrieval.profile.cosine-weight is not usable"),
        ("found-weight", "1e300", "setting retrieval.profile.found-weight is not usable"),
        ("fusion-weight", "-1", "setting retrieval.profile.fusion-weight is not usable"),
    ],
)
def test_g5_a_profile_that_cannot_grade_is_refused_by_name(name: str, value: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Settings.load(environ={}, overrides={f"retrieval.profile.{name}": value})


def test_g5_the_settings_hold_every_value_of_a_profile() -> None:
    assert set(NAMES) == Settings.load(environ={}).retrieval.profile.model_dump().keys() - {"model"}


def test_doctor_says_that_a_profile_of_another_model_is_left_out(tmp_path: Path) -> None:
    with open_for_test(tmp_path, retrieval__profile__model="another:model") as kb:
        problems = [item.problem for item in kb.health().problems]
    assert any("retrieval.profile is of the model another:model" in problem for problem in problems)
