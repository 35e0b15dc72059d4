"""``synonyms.yaml``: groups of terms that mean the same (K6), from the text of the file."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from kbapp.domain.documents import JsonValue
from kbapp.domain.plain_yaml import YamlProblem, read_yaml

SYNONYMS_FILE = "synonyms.yaml"
"""Its name in the base folder."""

_FORM = "each line gives terms that mean the same, as in - [熔断, circuit breaker]"


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Groups of terms that mean the same; ``problem`` says why there are none, and the way out."""

    groups: tuple[tuple[str, ...], ...] = ()
    problem: str | None = None


NO_SYNONYMS = Synonyms()


def parse_synonyms(text: str) -> Synonyms:
    """The groups in the text of the file; a text of another form has none and a problem."""
    try:
        value = read_yaml(text)
        if not value:
            return NO_SYNONYMS
        return Synonyms(tuple(_group(group, number, text) for number, group in enumerate(_groups(value))))
    except YamlProblem as problem:
        place = f"line {problem.line}: " if problem.line else ""
        return Synonyms(problem=f"{place}{problem.reason}; synonyms are left out until it is mended: {_FORM}")


def _groups(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise YamlProblem("it is not a list of groups", 1)
    return value


def _group(value: JsonValue, number: int, text: str) -> tuple[str, ...]:
    terms = value if isinstance(value, list) else []
    found = tuple(term.strip() for term in terms if isinstance(term, str))
    if not found or len(found) < len(terms):
        raise YamlProblem("this group is not a list of terms", _line_of(number, text))
    return found


def _line_of(number: int, text: str) -> int | None:
    """The 1-based line of a group in a text that ``read_yaml`` reads."""
    root = yaml.compose(text, Loader=yaml.BaseLoader)
    return root.value[number].start_mark.line + 1 if isinstance(root, yaml.SequenceNode) else None
