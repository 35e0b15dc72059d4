"""The simulator's scripted tasks: three runs whose calls are rows, what they save, and each step of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.invocation import Invocation
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.observed_run import ObservedRun
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.scripted_page import RESULT
from tests.embedding import TinyEmbedder
from tests.surfaces.ui.conftest import open_page_of

TASK = {
    "id": "timeouts",
    "goal": "支付超时怎么处理？",
    "steps": ["ERR_TIMEOUT", "ERR_TIMEOUT", "zqxv blorp", "Nginx"],
    "needed": ["api/payment.md", "knowledge_base/infrastructure/gateway.md"],
}
HOSTILE = "<script>alert(1)</script> :red[x] $x$"


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.query_params["session"] = "s1"
    app.query_params["mode"] = "scripted"
    return open_page_of(app, Page.SIMULATOR)


def upload(page: AppTest, *tasks: object) -> AppTest:
    text = "\n".join(task if isinstance(task, str) else json.dumps(task, ensure_ascii=False) for task in tasks)
    page.file_uploader[0].set_value([("own.jsonl", text.encode(), "application/json")]).run()
    assert not page.exception
    return page


def run_task(page: AppTest, task: dict[str, object] | None = None) -> tuple[ObservedRun, ...]:
    upload(page, task or TASK).button(key="simulator_run").click().run()
    assert not page.exception
    return runs_of(page)


def runs_of(page: AppTest) -> tuple[ObservedRun, ...]:
    runs: tuple[ObservedRun, ...] = page.session_state[RESULT]
    return runs


def rows(kb: KnowledgeBase, session: str | None = None) -> list[Invocation]:
    return list(reversed(kb.telemetry(session_id=session, limit=500)))


def html(page: AppTest, kind: str) -> str:
    return next((str(part.proto.body) for part in page.get("html") if f'class="{kind}"' in part.proto.body), "")


def sentences(page: AppTest) -> str:
    parts: Sequence[Sequence[object]] = (
        page.markdown,
        page.caption,
        page.info,
        page.warning,
        page.error,
        page.header,
    )
    return "\n".join(str(getattr(part, "value", "")) for kind in parts for part in kind)


def test_without_a_task_that_fits_the_page_says_what_to_do(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    assert "No task fits this knowledge base" in sentences(page)
    assert [button for button in page.button if button.key == "simulator_run"] == []
    assert rows(knowledge_base) == []


def test_a_run_is_three_runs_whose_calls_are_rows(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    forgetful, unconstrained, constrained = run_task(page)
    kept = rows(knowledge_base)
    assert [row.query for row in kept if row.session_id is None] == TASK["steps"]
    assert [row.query for row in rows(knowledge_base, unconstrained.session_id)] == TASK["steps"]
    asked = [call.query for call in constrained.outcome.transcript.calls]
    assert [row.query for row in rows(knowledge_base, constrained.session_id)] == asked
    assert len(asked) < len(kept) / 2
    assert len(kept) == 8 + len(asked)
    assert [row.relevance_level for row in kept[:2]] == ["PRECISE", "PRECISE"]
    assert forgetful.session_id is None


def test_the_savings_are_a_sentence_with_the_figures_of_the_runs(page: AppTest) -> None:
    before, *_, after = [run.figures() for run in run_task(page)]
    saved = page.header[0].value
    assert saved.startswith(
        f"4 calls → {after.calls}; {before.characters_given} characters → {after.characters_given};"
    )
    assert f"{after.needed_covered} of 2" in saved or "all 2 needed documents still given" in saved
    assert [metric.value for metric in page.metric] == [
        f"4 → {after.calls}",
        f"{before.characters_given} → {after.characters_given}",
        f"{before.characters_given_twice} → 0",
        f"{after.needed_covered} of 2",
    ]


def test_the_picture_says_in_words_what_it_shows(page: AppTest) -> None:
    run_task(page)
    picture = html(page, "kb-runs")
    assert 'role="img" aria-label="Every step, no memory: 3 PRECISE, 1 NOT FOUND"' in picture
    assert 'aria-label="Every step, action memory: 2 PRECISE, 1 DEDUPED, 1 NOT FOUND"' in picture
    assert "LEFT OUT" in picture
    assert picture.count('class="kb-run"') == 3


def test_a_rerun_repeats_no_call(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    run_task(page)
    count = len(rows(knowledge_base))
    page.run()
    page.switch_page(Page.HOME).run()
    page.switch_page(Page.SIMULATOR).run()
    assert len(rows(knowledge_base)) == count
    assert html(page, "kb-runs")
    assert page.selectbox(key="simulator_task").value == "timeouts — 支付超时怎么处理？"


@pytest.mark.parametrize("policy", DomainPolicy)
def test_the_policy_is_that_of_every_call(page: AppTest, knowledge_base: KnowledgeBase, policy: DomainPolicy) -> None:
    page = upload(page, TASK)
    page.segmented_control(key="simulator_policy").set_value(policy).run()
    page.button(key="simulator_run").click().run()
    assert {row.retrieval_details["domain_policy"] for row in rows(knowledge_base)} == {policy.value}


def test_a_file_with_a_bad_line_is_refused_with_the_line(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    upload(page, TASK, "{", {"id": "x"})
    told = page.error[0].value.replace("\\", "")
    assert "own.jsonl: no task is read: line 2: not JSON" in told
    assert "line 3: goal and steps and needed are missing" in told
    assert [button for button in page.button if button.key == "simulator_run"] == []
    assert rows(knowledge_base) == []


def test_a_needed_document_that_is_not_there_is_named(page: AppTest) -> None:
    upload(page, TASK | {"needed": ["api/none.md"]})
    assert "'api/none.md' (task 'timeouts')" in page.error[0].value.replace("\\", "")


def test_the_steps_are_shown_one_by_one_and_all_at_once(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    run_task(page)
    count = len(rows(knowledge_base))
    assert html(page, "kb-steps").count("<tr") == 5
    page.button(key="simulator_step_first").click().run()
    assert html(page, "kb-steps").count("<tr") == 2
    assert 'aria-label="Every step, no memory: 1 PRECISE"' in html(page, "kb-runs")
    page.button(key="simulator_step_next").click().run()
    assert html(page, "kb-steps").count("<tr") == 3
    assert 'aria-current="step"' in html(page, "kb-steps")
    assert "document was given before (step 1)" in html(page, "kb-steps")
    page.button(key="simulator_step_all").click().run()
    assert html(page, "kb-steps").count("<tr") == 5
    assert page.button(key="simulator_step_next").disabled
    assert len(rows(knowledge_base)) == count


def test_a_chosen_step_shows_both_calls_and_what_was_left_out(page: AppTest) -> None:
    _, unconstrained, constrained = run_task(page)
    page.selectbox(key="simulator_step").set_value(1).run()
    ids = [next(iter(run.rows)) for run in (unconstrained, constrained)]
    assert [heading.anchor for heading in page.header if heading.anchor] == [f"call-{each}" for each in ids]
    page.selectbox(key="simulator_step").set_value(2).run()
    assert len([heading for heading in page.header if heading.anchor]) == 1
    assert "the question is answered: “ERR_TIMEOUT” was PRECISE" in sentences(page).replace("\\", "")


def test_the_sessions_of_a_run_are_linked_and_both_exports_offered(page: AppTest) -> None:
    _, *remembering = run_task(page)
    links = [link.proto.query_string for link in page.page_link if "session=" in link.proto.query_string]
    for run in remembering:
        assert sum(f"session={run.session_id}" in link for link in links) == 2
    keys = [button.key for button in page.download_button if not button.disabled]
    assert keys == ["simulator_scripted_json", "simulator_scripted_md"]


def test_a_link_names_the_mode_and_the_switch_changes_it(page: AppTest) -> None:
    assert page.segmented_control(key="simulator_mode").value == "scripted"
    page.segmented_control(key="simulator_mode").set_value("manual").run()
    assert page.chat_input(key="simulator_query")
    assert page.query_params["mode"] in ("manual", ["manual"])
    page.query_params["mode"] = "llm"
    page.run()
    assert page.segmented_control(key="simulator_mode").value == "llm"
    page.query_params["mode"] = "nonsense"
    page.run()
    assert page.segmented_control(key="simulator_mode").value == "llm"


def test_degraded_runs_say_so_and_keyword_hits_stay(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ConnectionAbortedError

    monkeypatch.setattr(TinyEmbedder, "_embed", fail)
    run_task(page, TASK | {"steps": ["ERR_TIMEOUT", "缓冲区 重试", "没有这个词"]})
    assert 'aria-label="Every step, no memory: 1 PRECISE, 1 REFERENCE, 1 DEGRADED"' in html(page, "kb-runs")
    assert len(page.warning) >= 1


def test_text_of_tasks_is_never_markup(page: AppTest) -> None:
    run_task(page, TASK | {"id": HOSTILE, "goal": HOSTILE, "steps": [HOSTILE, f"ERR_TIMEOUT {HOSTILE}"]})
    shown = html(page, "kb-steps") + html(page, "kb-runs") + sentences(page)
    assert "<script>" not in shown.replace("\\<script\\>", "")
    assert "&lt;script&gt;" in shown
    assert ":red[" not in shown.replace(html(page, "kb-steps"), "")


def test_the_page_speaks_chinese_too(app: AppTest) -> None:
    app.query_params["lang"] = "zh"
    app.query_params["mode"] = "scripted"
    page = open_page_of(app, Page.SIMULATOR)
    run_task(page)
    assert page.header[0].value.startswith("4 次调用 →")
    assert "“ERR_TIMEOUT”已得到 PRECISE 结果，问题已解答" in html(page, "kb-steps")
