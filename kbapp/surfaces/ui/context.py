"""The one knowledge base of a server process."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import streamlit as st

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.errors import KbError
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings

CONFIG_VARIABLE = "_KBAPP_CONFIG"  # set by `kbapp app`; the settings themselves travel as KBAPP_… variables

logger = logging.getLogger("kbapp")


@st.cache_resource
def open_from_arguments() -> KnowledgeBase:
    """Open the knowledge base that ``kbapp app`` was told of, once per server, and index it in the background.

    Raises:
        UserError: a setting is wrong, or the folder does not exist.
    """
    config = os.environ.get(CONFIG_VARIABLE)
    kb = open_knowledge_base(Settings.load(Path(config) if config else None))
    threading.Thread(target=_refresh, args=(kb,), name="kbapp-index", daemon=True).start()
    return kb


def _refresh(kb: KnowledgeBase) -> None:
    try:
        kb.refresh()
    except KbError as error:
        logger.warning("%s", error)
