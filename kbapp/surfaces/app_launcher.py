"""``kbapp app``: starts Streamlit with the app of the checkout, or the copy that the wheel carries."""

from __future__ import annotations

import logging
import os
import shutil
import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from kbapp.settings import Settings
from kbapp.surfaces.ui.context import CONFIG_VARIABLE

logger = logging.getLogger("kbapp")

APP_PORT = 8501  # Streamlit's own
PORTS_TRIED = 100
PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where the server listens on 127.0.0.1 (None: from 8501 on, where it is free), and whether a browser is opened."""

    port: int | None = None
    opens_browser: bool = True


def app_folder() -> Path:
    """Where ``app.py``, ``.streamlit/`` and the sample are: in the wheel's ``_app``, else in the checkout."""
    installed = PACKAGE_FOLDER / "_app"
    return installed if installed.is_dir() else PACKAGE_FOLDER.parent


def copy_sample(settings: Settings) -> bool:
    """Put a copy of the sample where the knowledge base is to be and is not yet; whether that was done."""
    target = settings.base_folder
    sample = app_folder() / "knowledge_base"
    if target.exists() or not sample.is_dir():
        return False
    shutil.copytree(sample, target)
    return True


def launch(settings: Settings, config: Path | None, server: ServerOptions, *, may_copy_sample: bool) -> None:
    """Run the server in this process, whose modules are loaded already, until it is stopped."""
    if may_copy_sample and copy_sample(settings):
        logger.warning("copied the sample knowledge base to %s", settings.base_folder)
    os.environ["KBAPP_KNOWLEDGE__BASE_PATH"] = str(settings.base_folder)
    os.environ["KBAPP_STATE_DIR"] = str(settings.state_folder)
    if config is not None:
        os.environ[CONFIG_VARIABLE] = str(config.absolute())
    port = server.port or free_port()
    click.echo(f"\n  kbapp is at http://127.0.0.1:{port} (Ctrl+C ends it)\n")
    import streamlit.emojis  # noqa: F401 - what every first page would wait 0.15 s for
    from streamlit.web.cli import main

    main(streamlit_arguments(port, opens_browser=server.opens_browser), prog_name="streamlit", standalone_mode=False)


def free_port(first: int = APP_PORT) -> int:
    """The first port of 127.0.0.1 from ``first`` on where nobody listens."""
    for port in range(first, first + PORTS_TRIED):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    return first  # the server says that it is taken


def streamlit_arguments(port: int, *, opens_browser: bool) -> list[str]:
    """The arguments of ``streamlit``, which reads the ``.streamlit/`` beside the script.

    It asks for no e-mail address, and has no welcome message: with that goes the offer on the page, to whoever has an
    agent on the machine, to install Streamlit's skills for it.
    """
    flags = ["--server.showEmailPrompt=false", "--server.address=127.0.0.1", "--logger.hideWelcomeMessage=true"]
    headless = "false" if opens_browser else "true"
    return ["run", str(app_folder() / "app.py"), f"--server.port={port}", f"--server.headless={headless}", *flags]
