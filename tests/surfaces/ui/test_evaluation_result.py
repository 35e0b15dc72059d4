"""The evaluation page after a run: figures, levels by other thresholds, the queries behind them; and marked calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.domain.labelled_queries import Kind
from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.domain.telemetry import Verdict
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.service.what_if import Answered, judge
from kbapp.surfaces.ui import evaluation_queries, evaluation_sliders
from tests.surfaces.ui.evaluation_page import (
    LABELS,
    ODD,
    confusion_rows,
    lines,
    open_page,
    outcome_of,
    queries,
    run,
    tables,
    texts,
    upload,
)


@pytest.fixture
def evaluated(app: AppTest) -> AppTest:
    """The page with what came of the labels above."""
    return run(upload(open_page(app), lines(LABELS)))


def test_figures_kinds_and_levels_are_those_of_the_outcomes(evaluated: AppTest, knowledge_base: KnowledgeBase) -> None:
    result = outcome_of(evaluated)
    judged = judge(result.cases, Thresholds())
    right = [each.answered is Answered.RIGHT for each in judged]
    assert right[:2] == [True, False]
    assert [metric.value for metric in evaluated.metric[:3:2]] == [
        f"{sum(right[:4]) / 4:.0%}",
        f"{sum(each.level is None for each in judged[4:]) / 2:.0%}",
    ]
    assert f"{sum(right[:4])} of 4 (" in texts(evaluated)
    (kinds,) = tables(evaluated, "kb-figures")
    assert [row[0] for row in kinds] == ["Kind", "keyword", "question", "off-topic"]
    assert kinds[1][1:3] == ["2", "1 / 2 · 50%"]
    assert kinds[1][5] == "1 / 2"
    assert confusion_rows(evaluated)[0][0] == "1 ✓"
    assert confusion_rows(evaluated)[1][0] == "1 ✗"
    assert len(evaluated.get("vega_lite_chart")) == 3
    assert knowledge_base.telemetry() == []


def test_moving_a_threshold_changes_the_counts_at_once_and_reset_goes_back(evaluated: AppTest) -> None:
    before = confusion_rows(evaluated)
    assert evaluated.button(key="evaluation_apply").disabled
    evaluated.slider(key=evaluation_sliders.REFERENCE).set_value(1.0).run()
    assert evaluated.slider(key=evaluation_sliders.HIGHLY).value == 1.0
    after = confusion_rows(evaluated)
    assert after != before
    assert any("→" in cell for row in after for cell in row)
    assert after[2][3].split(" → ")[-1] == "2 ✓"
    assert "Queries that these thresholds would answer otherwise: " in texts(evaluated)
    evaluated.button(key="evaluation_reset").click().run()
    assert confusion_rows(evaluated) == before
    assert evaluated.slider(key=evaluation_sliders.HIGHLY).value == 0.75


def test_the_first_threshold_is_pushed_by_the_second(evaluated: AppTest) -> None:
    evaluated.slider(key=evaluation_sliders.HIGHLY).set_value(0.3).run()
    assert evaluated.slider(key=evaluation_sliders.REFERENCE).value == 0.3
    assert not evaluated.exception


def test_apply_writes_the_settings_and_the_next_lookup_is_judged_by_them(
    evaluated: AppTest, knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    evaluated.slider(key=evaluation_sliders.REFERENCE).set_value(0.0).run()
    evaluated.slider(key=evaluation_sliders.HIGHLY).set_value(0.01).run()
    evaluated.button(key="evaluation_apply").click().run()
    assert str(tmp_path / "kbapp.yaml") in texts(evaluated)
    assert not (tmp_path / "kbapp.yaml").exists()
    evaluated.button(key="evaluation_apply_yes").click().run()
    assert not evaluated.exception
    assert knowledge_base.thresholds == Thresholds(2.0, 0.01, 0.0)
    written = (tmp_path / "kbapp.yaml").read_text(encoding="utf-8")
    assert "reference-threshold: 0.0" in written
    assert "highly-relevant-threshold: 0.01" in written
    assert "In force from the next lookup on" in texts(evaluated)
    assert "The queries were looked up when the thresholds were 0.5 and 0.75." in texts(evaluated)
    assert not any("→" in cell for row in confusion_rows(evaluated) for cell in row)
    assert knowledge_base.overview().thresholds == knowledge_base.thresholds
    assert knowledge_base.lookup("反向代理的缓冲区与超时").relevance_level is RelevanceLevel.HIGHLY_RELEVANT


def test_apply_can_be_cancelled(evaluated: AppTest, knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    evaluated.slider(key=evaluation_sliders.HIGHLY).set_value(0.9).run()
    evaluated.button(key="evaluation_apply").click().run()
    evaluated.button(key="evaluation_apply_no").click().run()
    assert knowledge_base.thresholds == Thresholds()
    assert not (tmp_path / "kbapp.yaml").exists()


def test_the_worst_query_comes_first_and_opens_its_card_without_verdicts(evaluated: AppTest) -> None:
    assert queries(evaluated)[0] == "k2"
    evaluated.session_state[evaluation_queries.SELECTED] = "k2"
    evaluated.run()
    assert "infrastructure/gateway.md" in texts(evaluated)
    assert "wrong document, called relevant" in texts(evaluated)
    assert ODD in texts(evaluated)
    groups = [str(group.proto.id) for group in evaluated.get("button_group")]
    assert [name for name in ("card_details", "card_verdict") if any(name in group for group in groups)] == [
        "card_details"
    ]
    shown = [str(part.value) for part in [*evaluated.markdown, *evaluated.caption, *evaluated.header]]
    assert not any("<img" in text.replace("\\<", "") or "](javascript" in text for text in shown)


def test_a_cell_and_a_kind_list_their_queries(evaluated: AppTest) -> None:
    which = evaluated.selectbox(key=evaluation_queries.CELL)
    which.set_value((Answered.RIGHT, RelevanceLevel.PRECISE)).run()
    assert queries(evaluated) == ["k1"]
    which.set_value("every").run()
    assert queries(evaluated) == [label["id"] for label in LABELS]
    evaluated.multiselect(key=evaluation_queries.KINDS).set_value([Kind.OFFTOPIC]).run()
    assert queries(evaluated) == ["o1", "o2"]
    which.set_value((Answered.RIGHT, RelevanceLevel.PRECISE)).run()
    assert "No query is like this." in texts(evaluated)


def test_marked_calls_are_listed_by_verdict_and_level_with_their_card(
    app: AppTest, knowledge_base: KnowledgeBase
) -> None:
    _, wrong = knowledge_base.explained_lookup(LookupRequest("ERR_TIMEOUT", "s1"))
    _, good = knowledge_base.explained_lookup(LookupRequest(ODD, "s1"))
    knowledge_base.feedback(wrong.id, "wrong-level", "should be a reference")
    knowledge_base.feedback(good.id, "helpful")
    page = open_page(app)
    (table,) = (frame.value for frame in page.dataframe)
    assert list(table["query"]) == [ODD, "ERR_TIMEOUT"]
    assert list(table["note"]) == ["", "should be a reference"]
    assert [row[0].split(" ", 1)[1] for row in tables(page, "kb-confusion")[0][1:]] == [
        "helpful",
        "not helpful",
        "wrong level",
    ]
    assert tables(page, "kb-confusion")[0][3][1] == "1"
    page.session_state["evaluation_selected_mark"] = wrong.id
    page.run()
    assert "知识库中不存在比上述结果更精准的文档" in texts(page)
    page.pills(key=f"card_verdict_{wrong.id}").set_value(Verdict.NOT_HELPFUL).run()
    assert [mark.verdict for mark in knowledge_base.marks(wrong.id)] == ["wrong-level", "not-helpful"]
