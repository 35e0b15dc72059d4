"""How ``kbapp app`` starts the server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from streamlit import config
from streamlit.web import skills

from kbapp.surfaces.app_launcher import free_port, streamlit_arguments

OPTIONS = ("logger.hideWelcomeMessage", "server.headless")


@pytest.fixture
def restored_options() -> Iterator[None]:
    former = {name: config.get_option(name) for name in OPTIONS}
    yield
    for name, value in former.items():
        config.set_option(name, value)


def test_a_port_on_which_somebody_listens_is_passed_over() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        assert free_port(port) > port


@pytest.mark.parametrize("opens_browser", [True, False])
@pytest.mark.usefixtures("restored_options")
def test_nobody_is_offered_skills_for_streamlit(monkeypatch: pytest.MonkeyPatch, opens_browser: bool) -> None:
    monkeypatch.setattr(skills, "agent_harness_present", lambda: True)
    for argument in streamlit_arguments(8599, opens_browser=opens_browser):
        name, _, value = argument.removeprefix("--").partition("=")
        if name in OPTIONS:
            config.set_option(name, value == "true")
    assert skills.nudge_suppression_reason() in {"welcome_hidden", "headless"}
