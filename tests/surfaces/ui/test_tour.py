"""The tour: at the very first start, and when it is asked for."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.tour import STEPS
from tests.surfaces.ui.conftest import open_page_of


def steps(app: AppTest) -> list[str]:
    return [caption.value.rpartition("· ")[2] for caption in app.caption if "Tour ·" in caption.value]


def test_the_first_start_begins_with_it_and_each_step_leads_on_to_the_end(app: AppTest) -> None:
    open_page_of(app, Page.HOME)
    for number in range(1, len(STEPS)):
        assert steps(app) == [f"step {number} of {len(STEPS)}"]
        app.button(key="tour_next").click().run()
    app.button(key="tour_back").click().run()
    app.button(key="tour_next").click().run()
    app.button(key="tour_done").click().run()
    assert steps(app) == []
    assert not app.exception


def test_it_goes_on_over_pages_and_can_be_ended_and_begun_again(app: AppTest) -> None:
    open_page_of(app, Page.HOME)
    app.button(key="tour_next").click().run()
    app.switch_page(Page.SIMULATOR).run()
    assert steps(app) == ["step 2 of 5"]
    app.button(key="tour_end").click().run()
    assert steps(app) == []
    app.button(key="tour_start").click().run()
    assert steps(app) == ["step 1 of 5"]


def test_it_does_not_come_by_itself_once_something_was_looked_up(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    knowledge_base.lookup("ERR_TIMEOUT")
    open_page_of(app, Page.HOME)
    assert steps(app) == []


def test_the_steps_lead_to_pages_that_exist() -> None:
    assert {script for script, _ in STEPS} <= set(Page)
