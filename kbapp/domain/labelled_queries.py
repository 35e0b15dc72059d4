"""Queries with known answers: JSON lines ``{"id", "query", "kind", "lang", "relevant", "heading", …}`` into values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.errors import UserError
from kbapp.domain.json_lines import SHOWN_FAULTS, LineFault, id_of, parse_lines, relative_path, shown, text_of, texts_of
from kbapp.domain.tokens import CJK

KEYS = ("id", "query", "kind", "relevant")
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


def parse_labelled_queries(text: str, documents: Collection[str], base_folder: str) -> list[LabelledQuery]:
    """The labelled queries of a file, in order; blank lines and further keys are ignored.

    ``documents``: the paths that the knowledge base holds.

    Raises:
        UserError: a line is no labelled query or names an unknown document, or there is none; each such line is named.
    """
    known = set(documents)
    labels = parse_lines(
        text,
        KEYS,
        lambda values, line: _label(values, line, known, base_folder),
        refusal="nothing is computed",
    )
    if not labels:
        raise UserError("the file holds no query: write one JSON object per line with id, query, kind and relevant")
    return labels


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


def _label(values: Mapping[str, object], line: int, known: Collection[str], base_folder: str) -> LabelledQuery:
    query = text_of(values["query"], "query")
    kind = _kind(values["kind"])
    relevant = _relevant(values["relevant"], kind, known, base_folder)
    evidence = _evidence(values.get("evidence"))
    if evidence and kind is Kind.OFFTOPIC:
        raise LineFault("evidence is not empty, but nothing answers an offtopic query")
    return LabelledQuery(
        id=id_of(values["id"]),
        query=query,
        kind=kind,
        language=_optional_text(values.get("lang"), "lang") or _language_of_query(query),
        relevant=relevant,
        heading=_optional_text(values.get("heading"), "heading"),
        note=_optional_text(values.get("note"), "note") or "",
        evidence=evidence,
        line=line,
    )


def _kind(value: object) -> Kind:
    try:
        return Kind(str(value))
    except ValueError:
        raise LineFault(f"the kind {shown(str(value))} is unknown: say one of {', '.join(Kind)}") from None


def _relevant(value: object, kind: Kind, known: Collection[str], base_folder: str) -> tuple[str, ...]:
    paths = dict.fromkeys(relative_path(path, known, base_folder) for path in texts_of(value, "relevant"))
    if kind is Kind.OFFTOPIC and paths:
        raise LineFault("relevant is not empty, but nothing answers an offtopic query")
    if kind is not Kind.OFFTOPIC and not paths:
        raise LineFault(f"relevant is empty: name the documents that answer it, or say {Kind.OFFTOPIC.value}")
    unknown = [shown(path) for path in paths if path not in known]
    if unknown:
        raise LineFault(f"the knowledge base does not hold {', '.join(unknown[:SHOWN_FAULTS])}")
    return tuple(paths)


def _evidence(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return (text_of(value, "evidence"),) if isinstance(value, str) else texts_of(value, "evidence")


def _language_of_query(query: str) -> str:
    share = _chinese_share(query)
    return "mixed" if 0 < share < 1 else language_of(query)


def _optional_text(value: object, name: str) -> str | None:
    if value is None or value == "":
        return None
    return text_of(value, name)
