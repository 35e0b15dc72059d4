"""Upload: files by drag and drop, what each would become, and the question before a text is replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from kbapp.domain.document_paths import document_path
from kbapp.domain.errors import UserError
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.previews import Standing, UploadPreview
from kbapp.surfaces.ui import kb_work
from kbapp.surfaces.ui.kb_jobs import Fate, FileOutcome, Progress, Report, Upload, upload_all
from kbapp.surfaces.ui.kb_parts import render_chunks, render_frontmatter
from kbapp.surfaces.ui.quoted import plain
from kbapp.surfaces.ui.state import t

CATEGORY = "kb_category"
NEW_CATEGORY = "kb_new_category"
BATCH = "kb_batch"
PREVIEWS = "kb_previews"
MAX_SHOWN = 20

_NEW = ""  # no folder has this name
_STANDINGS = {
    Standing.NEW: ("green", ":material/add_circle:"),
    Standing.SAME: ("gray", ":material/drag_handle:"),
    Standing.OTHER: ("orange", ":material/published_with_changes:"),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that was dropped, and what it would become, or why not."""

    file: UploadedFile
    preview: UploadPreview | None
    refusal: str | None

    @property
    def asks_to_replace(self) -> bool:
        """Whether it may be stored only after a question."""
        return self.preview is not None and self.preview.standing is Standing.OTHER


def render_upload(kb: KnowledgeBase, domains: Sequence[str]) -> None:
    """The drop zone; below it the files that wait to be saved."""
    with st.container(border=True):
        st.header(t("kb.add"), anchor=False)
        drop, where = st.columns([3, 2], gap="medium")
        with drop:
            files = st.file_uploader(
                t("kb.drop"),
                type=["md"],
                accept_multiple_files=True,
                max_upload_size=ceil(kb.max_file_size / 1024 / 1024),
                key=f"kb_files_{st.session_state.setdefault(BATCH, 0)}",
                help=t("kb.drop_help"),
                disabled=kb_work.is_working(),
            )
        with where:
            category = _render_category(domains)
        if files and category:
            _render_candidates(kb, _candidates(kb, files, category), category)
        elif files:
            st.info(t("kb.category_first"), icon=":material/create_new_folder:")


def _render_category(domains: Sequence[str]) -> str | None:
    """The category in force; None while it is missing or cannot be one."""
    chosen: str | None = _NEW
    if domains:
        chosen = st.selectbox(
            t("kb.category"),
            [_NEW, *domains],
            format_func=lambda domain: domain or t("kb.category_new"),
            index=None,
            placeholder=t("kb.category_choose"),
            key=CATEGORY,
            help=t("kb.category_help"),
        )
    if chosen != _NEW:
        return chosen
    name = st.text_input(
        t("kb.category_name"),
        key=NEW_CATEGORY,
        placeholder=t("kb.category_example"),
        help=t("kb.category_help"),
    ).strip()
    if not name:
        return None
    try:
        document_path("document.md", name)
    except UserError as error:
        st.error(plain(str(error)), icon=":material/block:")
        return None
    return name


def _candidates(kb: KnowledgeBase, files: Iterable[UploadedFile], category: str) -> list[Candidate]:
    """What each file would become; a name that comes twice is refused the second time."""
    candidates, paths = [], set[str]()
    for file in files:
        candidate = _candidate(kb, file, category)
        if candidate.preview:
            path = candidate.preview.document.path.casefold()
            if path in paths:
                candidate = Candidate(file, None, t("kb.twice"))
            paths.add(path)
        candidates.append(candidate)
    return candidates


def _candidate(kb: KnowledgeBase, file: UploadedFile, category: str) -> Candidate:
    """Parsed once per file and category, whatever reruns happen; saving looks at the files again."""
    known: dict[tuple[str, str], Candidate] = st.session_state.setdefault(PREVIEWS, {})
    key = (file.file_id, category)
    if key not in known:
        try:
            known[key] = Candidate(file, kb.preview(file.name, file.getvalue(), category), None)
        except UserError as error:
            known[key] = Candidate(file, None, str(error))
    return known[key]


def _render_candidates(kb: KnowledgeBase, candidates: Sequence[Candidate], category: str) -> None:
    replacing = {candidate.file.file_id for candidate in candidates[:MAX_SHOWN] if _render_candidate(candidate)}
    if len(candidates) > MAX_SHOWN:
        st.caption(t("kb.more_files", count=len(candidates) - MAX_SHOWN))
        rest = [candidate for candidate in candidates[MAX_SHOWN:] if candidate.asks_to_replace]
        if rest and st.toggle(t("kb.replace_rest", count=len(rest)), key="kb_replace_rest"):
            replacing |= {candidate.file.file_id for candidate in rest}
    refused = [_refused(candidate) for candidate in candidates if not _is_wanted(candidate, replacing)]
    uploads = [
        Upload(candidate.file.name, candidate.file.getvalue(), category, candidate.file.file_id in replacing)
        for candidate in candidates
        if _is_wanted(candidate, replacing)
    ]
    with st.container(horizontal=True):
        save = st.button(
            t("kb.save", count=len(uploads)),
            key="kb_save",
            type="primary",
            icon=":material/upload:",
            disabled=not uploads or kb_work.is_working(),
        )
        discard = st.button(t("kb.discard"), key="kb_discard", icon=":material/close:")
    if save:
        kb_work.start(partial(_work, kb, uploads, refused))
    if save or discard:
        _empty_uploader()
        st.rerun()


def _work(
    kb: KnowledgeBase, uploads: Sequence[Upload], refused: Sequence[FileOutcome], report: Report
) -> tuple[FileOutcome, ...]:
    report(Progress(0.0, uploads[0].name))
    return (*upload_all(kb, uploads, report), *refused)


def _is_wanted(candidate: Candidate, replacing: set[str]) -> bool:
    if candidate.preview is None:
        return False
    return not candidate.asks_to_replace or candidate.file.file_id in replacing


def _refused(candidate: Candidate) -> FileOutcome:
    if candidate.preview is None:
        return FileOutcome(candidate.file.name, Fate.REFUSED, reason=candidate.refusal)
    return FileOutcome(candidate.file.name, Fate.EXISTS, path=candidate.preview.document.path)


def _empty_uploader() -> None:
    """The uploader of the next batch is another widget, without files."""
    st.session_state[BATCH] += 1
    st.session_state.pop(PREVIEWS, None)


def _render_candidate(candidate: Candidate) -> bool:
    """A file before it is saved; whether it is to replace what is there."""
    with st.container(border=True):
        preview = candidate.preview
        if preview is None:
            st.markdown(f":red[:material/block:] **{t('kb.fate_refused')}** · {plain(candidate.file.name)}")
            st.markdown(plain(candidate.refusal or ""))
            return False
        _render_head(candidate, preview)
        is_replacing = candidate.asks_to_replace and st.toggle(
            t("kb.replace", path=plain(preview.document.path)), key=f"kb_replace_{candidate.file.file_id}"
        )
        if candidate.asks_to_replace and not is_replacing:
            st.caption(t("kb.replace_or_not"))
        with st.expander(t("kb.preview", count=len(preview.chunks)), icon=":material/preview:"):
            render_frontmatter(preview.document)
            render_chunks(preview.chunks, f"kb_preview_{candidate.file.file_id}")
        return is_replacing


def _render_head(candidate: Candidate, preview: UploadPreview) -> None:
    colour, icon = _STANDINGS[preview.standing]
    document = preview.document
    badge = f":{colour}-badge[{icon} {t(f'kb.standing_{preview.standing.value}')}]"
    facts = [plain(document.title), size_text(candidate.file.size), t("kb.count_chunks", count=len(preview.chunks))]
    st.markdown(f"**{plain(document.path)}** {badge}  \n{' · '.join(facts)}")
    if document.warning:
        st.warning(plain(document.warning), icon=":material/warning:")
    if preview.identical_to:
        st.info(t("kb.identical", path=plain(preview.identical_to)), icon=":material/content_copy:")


def size_text(size_bytes: int) -> str:
    """A size for people."""
    if size_bytes < 1024:
        return f"{size_bytes} B"
    return f"{size_bytes / 1024:.1f} KB" if size_bytes < 1024 * 1024 else f"{size_bytes / 1024 / 1024:.1f} MB"
