"""Queries with known answers: JSON lines ``{"id", "query", "kind", "lang", "relevant", "heading", …}`` into values."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.errors import UserError
from kbapp.domain.tokens import CJK

KEYS = ("id", "query", "kind", "relevant")
SHOWN_FAULTS = 10
SHOWN_CHARACTERS = 60
CHINESE_SHARE = 0.25
"""Chinese pages of two corpora have 0.37 to 0.96, English ones at most 0.13."""

_CJK = re.compile(f"[{CJK}]")
_LATIN_WORD = re.compile("[A-Za-z]+")


class Kind(StrEnum):
    """What a labelled query asks for."""

    KEYWORD = "keyword"
    QUESTION = "question"
    PARAPHRASE = "paraphrase"
    BROAD = "broad"
    SECTION = "section"
    OFFTOPIC = "offtopic"


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query and what answers it.

    ``relevant`` holds paths relative to the knowledge base, none for ``offtopic``; ``heading`` is one of the first of
    them. The text that is given should hold every string of ``evidence``. ``line``: in the file, from 1.
    """

    id: str
    query: str
    kind: Kind
    language: str
    relevant: tuple[str, ...] = ()
    heading: str | None = None
    note: str = ""
    evidence: tuple[str, ...] = ()
    line: int = 1

    @property
    def is_trap(self) -> bool:
        """An off-topic query that contains a word of the corpus, which its note says."""
        return self.kind is Kind.OFFTOPIC and "trap" in self.note.casefold()


class _Fault(ValueError):
    """What is wrong with one line."""


def parse_labelled_queries(text: str, documents: Collection[str], base_folder: str) -> list[LabelledQuery]:
    """The labelled queries of a file, in order; blank lines and further keys are ignored.

    ``documents``: the paths that the knowledge base holds.

    Raises:
        UserError: a line is no labelled query or names an unknown document, or there is none; each such line is named.
    """
    known = set(documents)
    labels: dict[str, LabelledQuery] = {}
    faults: dict[int, str] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            label = _parse_line(line, number, known, base_folder)
            if label.id in labels:
                raise _Fault(f"the id {_shown(label.id)} is also in line {labels[label.id].line}")
            labels[label.id] = label
        except _Fault as fault:
            faults[number] = str(fault)
    if faults:
        raise UserError(f"nothing is computed: {_listed(faults)}")
    if not labels:
        raise UserError("the file holds no query: write one JSON object per line with id, query, kind and relevant")
    return list(labels.values())


def language_of(text: str) -> str:
    """``zh`` or ``en``, by the share of Chinese characters among those and Latin words."""
    return "zh" if _chinese_share(text) >= CHINESE_SHARE else "en"


def crosses_languages(label: LabelledQuery, languages: Sequence[str]) -> bool:
    """Whether all relevant documents are in another language than the query; ``languages``: theirs.

    A pasted term is in no language, and a query in two languages crosses none.
    """
    if label.kind is Kind.KEYWORD or label.language not in ("zh", "en"):
        return False
    return bool(languages) and label.language not in languages


def _chinese_share(text: str) -> float:
    chinese, latin = len(_CJK.findall(text)), len(_LATIN_WORD.findall(text))
    return chinese / (chinese + latin) if chinese else 0.0


def _parse_line(line: str, number: int, known: Collection[str], base_folder: str) -> LabelledQuery:
    values = _json_object(line)
    missing = [key for key in KEYS if key not in values]
    if missing:
        raise _Fault(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    query = _text(values["query"], "query")
    kind = _kind(values["kind"])
    relevant = _relevant(values["relevant"], kind, known, base_folder)
    evidence = _evidence(values.get("evidence"))
    if evidence and kind is Kind.OFFTOPIC:
        raise _Fault("evidence is not empty, but nothing answers an offtopic query")
    return LabelledQuery(
        id=_id(values["id"]),
        query=query,
        kind=kind,
        language=_optional_text(values.get("lang"), "lang") or _language_of_query(query),
        relevant=relevant,
        heading=_optional_text(values.get("heading"), "heading"),
        note=_optional_text(values.get("note"), "note") or "",
        evidence=evidence,
        line=number,
    )


def _json_object(line: str) -> dict[str, object]:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise _Fault(f"not JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of more digits, or nested deeper than Python takes
        raise _Fault(f"not JSON that can be read ({error})") from error
    if not isinstance(values, dict):
        raise _Fault("not a JSON object")
    return values


def _kind(value: object) -> Kind:
    try:
        return Kind(str(value))
    except ValueError:
        raise _Fault(f"the kind {_shown(str(value))} is unknown: say one of {', '.join(Kind)}") from None


def _relevant(value: object, kind: Kind, known: Collection[str], base_folder: str) -> tuple[str, ...]:
    paths = dict.fromkeys(_relative(path, known, base_folder) for path in _texts(value, "relevant"))
    if kind is Kind.OFFTOPIC and paths:
        raise _Fault("relevant is not empty, but nothing answers an offtopic query")
    if kind is not Kind.OFFTOPIC and not paths:
        raise _Fault(f"relevant is empty: name the documents that answer it, or say {Kind.OFFTOPIC.value}")
    unknown = [_shown(path) for path in paths if path not in known]
    if unknown:
        raise _Fault(f"the knowledge base does not hold {', '.join(unknown[:SHOWN_FAULTS])}")
    return tuple(paths)


def _relative(path: str, known: Collection[str], base_folder: str) -> str:
    path = unicodedata.normalize("NFC", path).removeprefix("./")
    return path if path in known else path.removeprefix(f"{unicodedata.normalize('NFC', base_folder)}/")


def _evidence(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return (_text(value, "evidence"),) if isinstance(value, str) else _texts(value, "evidence")


def _language_of_query(query: str) -> str:
    share = _chinese_share(query)
    return "mixed" if 0 < share < 1 else language_of(query)


def _id(value: object) -> str:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else _text(value, "id")


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Fault(f"{name} is not a text with something in it")
    return value.strip()


def _optional_text(value: object, name: str) -> str | None:
    if value is None or value == "":
        return None
    return _text(value, name)


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _Fault(f"{name} is not a list")
    return tuple(_text(text, f"{name}[{position}]") for position, text in enumerate(value, start=1))


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…")


def _listed(faults: dict[int, str]) -> str:
    """The first faults with their reasons, the others by their lines."""
    numbers = list(faults)
    listed = "; ".join(f"line {number}: {faults[number]}" for number in numbers[:SHOWN_FAULTS])
    rest = numbers[SHOWN_FAULTS:]
    return f"{listed}; and also line{'s' if len(rest) > 1 else ''} {', '.join(map(str, rest))}" if rest else listed
