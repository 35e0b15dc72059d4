"""The executor prompts hold the constraints of M6, and tell nothing about what a knowledge base holds (Q10)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kbapp.domain.errors import UserError
from kbapp.prompts import LANGUAGES, executor_prompt

KNOWLEDGE_BASE = Path(__file__).resolve().parents[1] / "knowledge_base"
CONCEPT = "domain"  # the product's word for a first folder, and by chance the name of one


def heading_levels(prompt: str) -> list[int]:
    return [len(line) - len(line.lstrip("#")) for line in prompt.split("\n") if line.startswith("#")]


def names_of_the_knowledge_base() -> set[str]:
    names = {folder.name for folder in KNOWLEDGE_BASE.iterdir() if folder.is_dir()} - {CONCEPT} | {"general"}
    for path in KNOWLEDGE_BASE.rglob("*.md"):
        names |= {path.stem, path.relative_to(KNOWLEDGE_BASE).as_posix()}
        lines = path.read_text(encoding="utf-8").split("\n")
        names |= {
            line.removeprefix(mark).strip() for mark in ("title:", "# ") for line in lines if line.startswith(mark)
        }
    return names - {""}


def holds_word(text: str, name: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("zh", "需要外部信息时调用工具，但须遵守下方的检索约束"),
        ("zh", "不查全不会被追责，重复检索才会被惩罚"),
        ("zh", "`PRECISE` → 停止"),
        ("zh", "`HIGHLY_RELEVANT` 且该域已检索 → 禁止"),
        ("zh", "`REFERENCE` → 可参考；不够用时，先指出缺少的维度"),
        ("en", "When you need external information, call the tool, but obey the lookup constraints below"),
        ("en", "You will not be blamed for an incomplete search; only repeated lookups are penalised"),
        ("en", "`PRECISE` → stop"),
        ("en", "`HIGHLY_RELEVANT` and its domain already retrieved → looking up the same thing again is forbidden"),
        ("en", "`REFERENCE` → usable as background; if it is not enough, name the missing dimension first"),
    ],
)
def test_m6_the_prompt_holds_the_constraint(language: str, sentence: str) -> None:
    assert sentence in executor_prompt(language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_m6_the_prompt_explains_what_the_executor_sends_and_gets(language: str) -> None:
    terms = "lookup_knowledge query section_title missing_dimension availableSections retrievedDomainsThisSession"
    for term in f"{terms} DEDUPED message found=false degraded source".split():
        assert term in executor_prompt(language), term


@pytest.mark.parametrize("language", LANGUAGES)
def test_m6_the_prompt_does_not_demand_a_lookup_for_every_need(language: str) -> None:
    assert "所有需要外部信息的地方" not in executor_prompt(language)
    assert "都必须调用" not in executor_prompt(language)
    assert "must call" not in executor_prompt(language)


def test_m6_both_languages_have_the_same_headings_and_stay_short() -> None:
    zh, en = executor_prompt("zh"), executor_prompt("en")
    assert heading_levels(zh) == heading_levels(en)
    assert len(heading_levels(zh)) >= 8
    assert max(zh.count("\n"), en.count("\n")) <= 60


@pytest.mark.parametrize("language", LANGUAGES)
def test_q10_the_prompt_names_no_domain_and_no_document(language: str) -> None:
    names = names_of_the_knowledge_base()
    assert {"api", "payment-errors", "支付网关错误码定义", "disk-full", "Error: disk full"} <= names
    prompt = executor_prompt(language)
    assert [name for name in sorted(names) if holds_word(prompt, name)] == []


def test_an_unknown_language_is_refused_with_the_choice() -> None:
    with pytest.raises(UserError, match="'fr': choose zh or en"):
        executor_prompt("fr")
