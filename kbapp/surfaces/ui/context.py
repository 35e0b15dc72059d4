"""The one knowledge base of a server process."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from kbapp.bootstrap import open_knowledge_base
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.settings import Settings

CONFIG_VARIABLE = "_KBAPP_CONFIG"  # set by `kbapp app`; the settings themselves travel as KBAPP_… variables


@st.cache_resource
def open_from_arguments() -> KnowledgeBase:
    """Open the knowledge base that ``kbapp app`` was told of, once per server, and follow its files.

    Raises:
        UserError: a setting is wrong, or the folder does not exist.
    """
    config = os.environ.get(CONFIG_VARIABLE)
    kb = open_knowledge_base(Settings.load(Path(config) if config else None))
    kb.follow()
    return kb
