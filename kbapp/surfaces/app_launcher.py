"""``kbapp app``: starts Streamlit with the app of the checkout, or the copy that the wheel carries."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

from kbapp.settings import Settings
from kbapp.surfaces.ui.context import CONFIG_VARIABLE

logger = logging.getLogger("kbapp")

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]


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


def launch(*, root: Path | None, state_dir: Path | None, config: Path | None) -> int:
    """Run the server until it is stopped; its exit status."""
    environ = dict(os.environ)
    if root is not None:
        environ["KBAPP_KNOWLEDGE__BASE_PATH"] = str(root.absolute())
    if state_dir is not None:
        environ["KBAPP_STATE_DIR"] = str(state_dir.absolute())
    if config is not None:
        environ[CONFIG_VARIABLE] = str(config.absolute())
    settings = Settings.load(config, environ=environ)
    if copy_sample(settings):
        print(f"copied the sample knowledge base to {settings.base_folder}", file=sys.stderr)  # noqa: T201
    folder = app_folder()
    # Streamlit reads .streamlit/ from the working directory, which is the user's: the same values as flags.
    command = [
        *(sys.executable, "-m", "streamlit", "run", str(folder / "app.py")),
        *("--server.address", "127.0.0.1", "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none"),
        *("--client.toolbarMode", "minimal", "--client.showErrorDetails", "none"),
    ]
    return subprocess.run(command, env=environ, check=False).returncode  # noqa: S603
