"""The evaluation page: a file of labelled queries is run whole, or refused with every wrong line named."""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.domain.errors import IndexUnavailable
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.evaluation_labels import sample_labels
from kbapp.surfaces.ui.evaluation_run import RESULT, RUN, Stopped
from tests.surfaces.ui.evaluation_page import LABELS, lines, open_page, run, tables, texts, upload


def faults(page: AppTest) -> dict[int, str]:
    (table,) = tables(page, "kb-faults")
    return {int(line): unescape(reason) for line, reason in table[1:]}


def test_without_a_run_the_page_says_what_to_do_and_how_to_mark_a_call(app: AppTest) -> None:
    page = open_page(app)
    assert "The sample queries need all documents of the sample" in texts(page)
    assert "Nobody has marked a call yet" in texts(page)
    assert not page.metric
    assert not page.dataframe
    assert "evaluation_start" not in [button.key for button in page.button]


def test_without_documents_the_way_leads_to_the_knowledge_base(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    for record in knowledge_base.documents():
        knowledge_base.delete(record.path)
    page = open_page(app)
    assert "There is no document yet" in texts(page)
    assert not page.get("file_uploader")
    assert "Nobody has marked a call yet" in texts(page)


def test_every_wrong_line_is_a_row_and_nothing_is_computed(app: AppTest) -> None:
    good = LABELS[0]
    wrong = [
        {**good, "id": "w1", "relevant": ["api/absent.md"]},
        {**good},
        {**good, "id": "w3", "kind": "guess"},
        {**good, "id": "w4", "relevant": "api/payment.md"},
    ]
    data = lines([good, *wrong]) + b'\n{"id": \n' + b"\n".join([b"?"] * 9)
    page = upload(upload(open_page(app), lines([good])), data)  # nor is the file before it run
    reasons = faults(page)
    assert list(reasons) == list(range(2, 16))
    assert "does not hold 'api/absent.md'" in reasons[2]
    assert reasons[3] == "the id 'k1' is also in line 1"
    assert "the kind 'guess' is unknown" in reasons[4]
    assert reasons[5] == "relevant is not a list"
    assert all("not JSON" in reasons[line] for line in range(6, 16))
    assert "labels.jsonl: 14 lines cannot be used, so nothing is computed" in texts(page)
    assert "evaluation_start" not in [button.key for button in page.button]
    assert RESULT not in page.session_state


@pytest.mark.parametrize(
    ("data", "sentence"), [(b"\xff\xfe\x00", "UTF-16"), (b" \n", "the file holds no query: write one JSON object")]
)
def test_a_file_that_is_no_text_or_empty_is_refused_with_a_sentence(app: AppTest, data: bytes, sentence: str) -> None:
    page = upload(open_page(app), data)
    assert sentence in page.error[0].value.replace("\\", "")
    assert not page.exception


def test_evidence_that_stands_nowhere_is_named_when_it_is_run_and_a_mended_file_takes_its_place(app: AppTest) -> None:
    page = run(upload(open_page(app), lines([{**LABELS[0], "evidence": "no such text"}])))
    assert faults(page) == {1: "'no such text' stands in no relevant document"}
    assert not page.metric
    page = run(upload(page, lines(LABELS[:1])))
    assert not page.error
    assert page.metric[0].value == "100%"


def test_what_cannot_be_searched_is_no_evaluation(
    app: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = upload(open_page(app), lines(LABELS))

    def fail(*_: object, **__: object) -> Callable[[], None]:
        raise IndexUnavailable("the model is gone: start it again")

    monkeypatch.setattr(knowledge_base, "warm_up", fail)
    page = run(page)
    assert [error.value.replace("\\", "") for error in page.error] == ["the model is gone: start it again"]
    assert not page.metric


def test_a_run_goes_on_while_another_page_is_looked_at_and_can_be_stopped(
    app: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(knowledge_base, "warm_up", gate.wait)
    page = upload(open_page(app), lines(LABELS))
    page.button(key="evaluation_start").click().run()
    assert "evaluation_start" not in [button.key for button in page.button]
    page.switch_page(Page.HOME).run()
    page.switch_page(Page.EVALUATION).run()
    page.button(key="evaluation_stop").click().run()
    assert page.button(key="evaluation_stop").disabled
    job = page.session_state[RUN].job
    gate.set()
    assert job.wait(60)
    page.run()
    assert isinstance(job.error, Stopped)
    assert not page.error
    assert not page.metric
    assert run(page).metric


def test_the_page_is_chinese_with_a_result(app: AppTest) -> None:
    app.query_params["lang"] = "zh"
    page = run(upload(open_page(app), lines(LABELS)))
    assert "首位文档正确" in texts(page)
    assert "等级可信吗" in texts(page)
    assert not [word for word in ("Right document", "Queries,", "Reset") if word in texts(page)]


@pytest.fixture
def no_samples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("kbapp.surfaces.ui.evaluation_labels.app_folder", lambda: tmp_path)
    return tmp_path / "sample_queries.jsonl"


def test_the_sample_is_offered_where_all_its_documents_are(
    app: AppTest, knowledge_base: KnowledgeBase, no_samples: Path
) -> None:
    assert sample_labels(knowledge_base) is None
    no_samples.write_bytes(lines([{**LABELS[0], "relevant": ["other.md"]}]))
    assert sample_labels(knowledge_base) is None
    no_samples.write_bytes(lines(LABELS))
    page = open_page(app)
    page.button(key="evaluation_sample").click().run()
    assert "sample_queries.jsonl" in texts(page)
    assert run(page).metric[0].value.endswith("%")
