"""A backup archive: the names of its members, its manifest, its limits."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from kbapp.domain.document_paths import is_document_name, unreadable_characters
from kbapp.domain.errors import UserError
from kbapp.domain.synonyms import SYNONYMS_FILE

FORMAT = 1
MANIFEST_MEMBER = "manifest.json"  # the last one: what is cut off has none
DATABASE_MEMBER = "kbapp.sqlite3"
SETTINGS_MEMBER = "kbapp.yaml"
DOCUMENTS_PREFIX = "documents/"

MAX_MEMBERS = 200_000
MAX_MANIFEST_BYTES = 64 * 1024 * 1024
MAX_SETTINGS_BYTES = 1024 * 1024
MAX_RATIO = 200  # bytes per compressed byte; Markdown and our database have 2 to 20, a bomb has 1,000
ALWAYS_ALLOWED_BYTES = 256 * 1024 * 1024

_SHA256 = re.compile("[0-9a-f]{64}")
_SCHEMA = re.compile("V[0-9]{3,6}")


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive; ``mtime_ns``: when it was changed, nanoseconds since 1970."""

    name: str
    size: int
    sha256: str
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself; ``schema`` is the last migration of its database, ``model`` made the vectors."""

    version: str
    created_at: str
    schema: str | None
    model: str | None
    vectors: bool
    members: tuple[Member, ...]
    format: int = FORMAT

    @property
    def documents(self) -> dict[str, Member]:
        """The files of the base folder, by relative path."""
        return {
            member.name.removeprefix(DOCUMENTS_PREFIX): member
            for member in self.members
            if member.name.startswith(DOCUMENTS_PREFIX)
        }

    @property
    def size_bytes(self) -> int:
        """What all members take on the disk."""
        return sum(member.size for member in self.members)

    def holds(self, name: str) -> bool:
        """Whether there is such a member."""
        return any(member.name == name for member in self.members)

    def to_bytes(self) -> bytes:
        """The JSON of the member ``manifest.json``."""
        return (json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n").encode()


def count_documents(paths: Iterable[str]) -> int:
    """How many of these files are documents; ``synonyms.yaml`` is none."""
    return sum(path != SYNONYMS_FILE for path in paths)


def document_member(path: str) -> str:
    """The member's name of a file of the base folder."""
    return DOCUMENTS_PREFIX + path


def check_member_name(name: str) -> None:
    """Nothing but what an export writes: no absolute name, none with ``..``, none that a scan would not list.

    Raises:
        UserError: another name.
    """
    if name in (MANIFEST_MEMBER, DATABASE_MEMBER, SETTINGS_MEMBER):
        return
    shown = unreadable_characters(name)
    path = name.removeprefix(DOCUMENTS_PREFIX)
    parts = path.split("/")
    is_plain = shown is None and name.startswith(DOCUMENTS_PREFIX) and unicodedata.is_normalized("NFC", path)
    is_visible = all(part and not part.startswith(".") for part in parts)
    if not (is_plain and is_visible and (path == SYNONYMS_FILE or is_document_name(parts[-1]))):
        raise UserError(f"it holds {(shown or name)[:200]!r}, which no export writes")


def parse_manifest(data: bytes) -> Manifest:
    """The manifest in these bytes.

    Raises:
        UserError: it is none, or of a newer format.
    """
    try:
        values = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise UserError(f"{MANIFEST_MEMBER} is no JSON") from None
    if not isinstance(values, dict) or not isinstance(values.get("format"), int):
        raise UserError(f"{MANIFEST_MEMBER} does not say its format")
    if values["format"] > FORMAT:
        raise UserError(
            f"it was made by a newer kbapp ({values.get('version')!s:.40}, archive format {values['format']}; this one"
            f" reads format {FORMAT}): update kbapp"
        )
    members = values.get("members")
    if not isinstance(members, list) or len(members) > MAX_MEMBERS:
        raise UserError(f"{MANIFEST_MEMBER} does not list the members")
    return Manifest(
        version=_text(values, "version"),
        created_at=_text(values, "created_at"),
        schema=_optional(values, "schema", _SCHEMA),
        model=_optional(values, "model", None),
        vectors=values.get("vectors") is True,
        members=tuple(_member(member) for member in members),
    )


def compare_members(declared: Sequence[Member], found: Mapping[str, Member]) -> None:
    """Each member is there, no other, and each as it was declared.

    Raises:
        UserError: names the first that is not so.
    """
    for member in declared:
        there = found.get(member.name)
        if there is None:
            raise UserError(f"{member.name} is missing")
        if there.size != member.size:
            raise UserError(f"{member.name} has {there.size:,} bytes, {MANIFEST_MEMBER} says {member.size:,}")
        if there.sha256 != member.sha256:
            raise UserError(f"{member.name} is damaged: it is not what {MANIFEST_MEMBER} says")
    names = {member.name for member in declared}
    if len(names) != len(declared):
        raise UserError(f"{MANIFEST_MEMBER} lists a member twice")
    unknown = sorted(found.keys() - names)
    if unknown:
        raise UserError(f"{unknown[0]} is not in {MANIFEST_MEMBER}")


def _member(values: object) -> Member:
    if not isinstance(values, dict):
        raise UserError(f"{MANIFEST_MEMBER} lists something that is no member")
    name = _text(values, "name")
    check_member_name(name)
    size, mtime_ns = values.get("size"), values.get("mtime_ns", 0)
    sha256 = _optional(values, "sha256", _SHA256)
    if not (_is_count(size) and _is_count(mtime_ns) and sha256 and name != MANIFEST_MEMBER):
        raise UserError(f"{MANIFEST_MEMBER} does not say size and SHA-256 of {name}")
    return Member(name, int(str(size)), sha256, int(str(mtime_ns)))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _text(values: Mapping[str, object], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str):
        raise UserError(f"{MANIFEST_MEMBER} has no {name}")
    return value


def _optional(values: Mapping[str, object], name: str, form: re.Pattern[str] | None) -> str | None:
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or (form and not form.fullmatch(value)):
        raise UserError(f"{MANIFEST_MEMBER} has no usable {name}")
    return value
