"""What holds of every page: it opens, in both languages, and errors are sentences."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.texts import CATALOGUE, Language, text
from tests.surfaces.ui.conftest import ROOT, open_page_of


@pytest.mark.parametrize("page", Page)
@pytest.mark.parametrize("language", Language)
def test_every_page_opens_in_both_languages(app: AppTest, page: Page, language: Language) -> None:
    app.query_params["lang"] = "en" if language is Language.ENGLISH else "zh"
    open_page_of(app, page)
    assert not app.exception
    assert not app.error
    assert app.title[0].value == CATALOGUE[f"menu.{page.name.lower()}"][list(Language).index(language)]


def test_every_text_has_both_languages_with_the_same_values() -> None:
    for key, texts in CATALOGUE.items():
        english, chinese = ({name for _, name, _, _ in Formatter().parse(text) if name} for text in texts)
        assert all(text.strip() for text in texts), key
        assert english == chinese, key


def test_every_text_that_the_pages_name_is_in_the_catalogue() -> None:
    sources = [*ROOT.glob("pages/*.py"), ROOT / "app.py", *Path(ROOT / "kbapp/surfaces/ui").rglob("*.py")]
    named = {key for source in sources for key in re.findall(r'\bt\(\s*"([^"]+)"', source.read_text(encoding="utf-8"))}
    assert named <= CATALOGUE.keys()
    assert named


def test_a_wrong_setting_is_a_sentence_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KBAPP_NONSENSE", "1")
    app = AppTest.from_file(str(ROOT / Page.HOME), default_timeout=60).run()
    assert not app.exception
    assert "KBAPP_NONSENSE" in app.error[0].value.replace("\\", "")


def test_a_count_is_followed_by_the_word_in_its_number() -> None:
    shown = [text("kb.count_chunks", Language.ENGLISH, count=count) for count in (0, 1, 2, "1", "1,024")]
    assert shown == ["0 chunks", "1 chunk", "2 chunks", "1 chunk", "1,024 chunks"]
    assert text("kb.count_chunks", Language.CHINESE, count=1) == "1 个片段"
