"""The tasks to choose from: those that come with kbapp and fit the documents, and those of a file of one's own."""

from __future__ import annotations

import logging
from pathlib import Path

import streamlit as st

from kbapp.domain.encodings import decode_markdown
from kbapp.domain.errors import KbError, UserError
from kbapp.domain.tasks import Task, parse_tasks, with_known_documents
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.observed_run import shelf_of
from kbapp.service.simulation import Shelf
from kbapp.surfaces.app_launcher import app_folder
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

logger = logging.getLogger("kbapp.app")

OWN_FILE = "simulator_tasks_file"
OWN_TASKS = "simulator_own_tasks"  # the uploader loses its file on a change of page
OWN_FAULT = "simulator_own_fault"
MAX_FILE_MEGABYTES = 5
EXAMPLE = (
    '{"id": "pool", "goal": "How do I size the pool?", "steps": ["pool size", "how large a pool"],'
    ' "needed": ["infrastructure/mysql-connection-pool.md"]}'
)
_SHIPPED = ("tasks.jsonl", "benchmarks/tasks.jsonl")  # in the wheel, in the checkout


def shipped_file() -> Path | None:
    """The tasks about the sample, where they are installed."""
    return next((file for name in _SHIPPED if (file := app_folder() / name).is_file()), None)


def shipped_tasks(shelf: Shelf) -> list[Task]:
    """The shipped tasks whose needed documents are all there."""
    file = shipped_file()
    if file is None:
        return []
    try:
        tasks = parse_tasks(decode_markdown(file.read_bytes()))
    except (OSError, UserError) as error:
        logger.warning("%s is not used: %s", file, error)
        return []
    return [task for task in tasks if shelf.documents and set(task.needed) <= set(shelf.documents)]


def tasks_to_choose(kb: KnowledgeBase) -> dict[str, Task]:
    """``id — goal`` → task, one's own first."""
    own: list[Task] = st.session_state.get(OWN_TASKS, [])
    tasks: dict[str, Task] = {}
    for task in [*own, *shipped_tasks(shelf_of(kb))]:
        tasks.setdefault(label_of(task), task)
    return tasks


def label_of(task: Task) -> str:
    """A task on one line."""
    return " ".join(f"{task.id} — {task.goal}".split())


def render_own_tasks(kb: KnowledgeBase, *, expanded: bool) -> None:
    """The uploader; what is wrong with a file is said, and then none of it is used."""
    with st.expander(t("scripted.own"), icon=":material/upload_file:", expanded=expanded):
        st.caption(t("scripted.own_format"))
        st.code(EXAMPLE, language="json", wrap_lines=True)
        st.file_uploader(
            t("scripted.own_file"),
            type=["jsonl", "json", "ndjson"],
            max_upload_size=MAX_FILE_MEGABYTES,
            key=OWN_FILE,
            on_change=_take,
            args=(kb,),
        )
        if OWN_FAULT in st.session_state:
            st.error(plain(st.session_state[OWN_FAULT]), icon=":material/error:")
        elif OWN_TASKS in st.session_state:
            st.success(t("scripted.own_taken", count=len(st.session_state[OWN_TASKS])), icon=":material/check:")


def _take(kb: KnowledgeBase) -> None:
    """Before the page is drawn, so that the tasks stand in its list at once."""
    st.session_state.pop(OWN_TASKS, None)
    st.session_state.pop(OWN_FAULT, None)
    file = st.session_state.get(OWN_FILE)
    if file is None:
        return
    try:
        shelf = shelf_of(kb)
        tasks = parse_tasks(decode_markdown(file.getvalue()))
        st.session_state[OWN_TASKS] = with_known_documents(tasks, shelf.documents, shelf.base_folder)
    except KbError as error:
        st.session_state[OWN_FAULT] = f"{file.name}: {error}"
