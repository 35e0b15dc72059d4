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


def launch(settings: Settings, config: Path | None, *, may_copy_sample: bool) -> int:
    """Run the server until it is stopped; its exit status."""
    if may_copy_sample and copy_sample(settings):
        logger.warning("copied the sample knowledge base to %s", settings.base_folder)
    environ = os.environ | {
        "KBAPP_KNOWLEDGE__BASE_PATH": str(settings.base_folder),
        "KBAPP_STATE_DIR": str(settings.state_folder),
    }
    if config is not None:
        environ[CONFIG_VARIABLE] = str(config.absolute())
    # Streamlit reads the .streamlit/ beside the script.
    command = [sys.executable, "-m", "streamlit", "run", str(app_folder() / "app.py")]
    return subprocess.run(command, env=environ, check=False).returncode  # noqa: S603 - our own interpreter and script
