"""File names and paths of people into relative paths of documents, NFC with ``/`` (U2)."""

from __future__ import annotations

import re
import unicodedata

from kbapp.domain.errors import UserError

SUFFIX = ".md"
MAX_NAME_BYTES = 255  # of ext4, APFS and NTFS

# Control characters, line separators, lone surrogates, and marks that reorder what a person reads.
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_ON_WINDOWS = frozenset('<>:"|?*')
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [device + digit for device in ("com", "lpt") for digit in "0123456789¹²³"]
)


def is_document_name(name: str) -> bool:
    """Whether scans and uploads take a file of this name: ``.md`` in any case, no dot in front."""
    return name.lower().endswith(SUFFIX) and not name.startswith(".")


def unreadable_characters(name: str) -> str | None:
    """The name with its control characters and the like escaped, None when it has none."""
    if not _UNREADABLE.search(name):
        return None
    return _UNREADABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), name)


def document_path(name: str, category: str) -> str:
    """The relative path of an upload: ``api/payment-errors.md``.

    Raises:
        UserError: the name or the category is not one plain path component, or the name does not end in ``.md``.
    """
    checked_category = _checked(category, "category")
    checked_name = _checked(name, "file name")
    if not is_document_name(checked_name):
        raise UserError(f'the file name "{name}" does not end in {SUFFIX}: only Markdown files are documents')
    return f"{checked_category}/{checked_name}"


def relative_path(path: str, base_folder: str) -> str:
    """A document's relative path from ``api/x.md``; nothing outside the knowledge base has one.

    Raises:
        UserError: absolute, with ``..``, hidden, unreadable, or not ``.md``.
    """
    shown = unreadable_characters(path)
    if shown is not None:
        raise UserError(f'the path "{shown}" holds control characters: give it without them')
    parts = [part for part in unicodedata.normalize("NFC", path).split("/") if part != "."]
    if path.startswith("/") or re.match("[A-Za-z]:", path) or ".." in parts:
        raise UserError(f'"{path}" leads outside the knowledge base: give the path under {base_folder}/')
    if "" in parts or any(part.startswith(".") for part in parts) or not is_document_name("/".join(parts)):
        raise UserError(f'"{path}" is not a document: give the path of a {SUFFIX} file under {base_folder}/')
    return "/".join(parts)


def _checked(component: str, kind: str) -> str:
    shown = unreadable_characters(component)
    if shown is not None:
        raise UserError(f'the {kind} "{shown}" holds control characters: choose one without them')
    name = unicodedata.normalize("NFC", component)
    fault = _fault(name)
    if fault is not None:
        raise UserError(f'the {kind} "{_shortened(name)}" {fault}')
    return name


def _fault(name: str) -> str | None:
    if not name.strip():
        return "is empty: give one"
    if "/" in name or "\\" in name or name == "..":
        return "is a path: give a single name without / and \\"
    if name.startswith(".") or name != name.strip() or name.endswith("."):
        return "starts with a dot or a space, or ends with one: choose one that does not"
    if _NOT_ON_WINDOWS & set(name):
        return 'holds one of < > : " | ? *: Windows cannot store it, choose another'
    if name.split(".")[0].strip().casefold() in _DEVICES:
        return "is a reserved name of Windows: choose another"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes: shorten it"
    return None


def _shortened(name: str) -> str:
    return name if len(name) <= 80 else name[:79] + "…"
