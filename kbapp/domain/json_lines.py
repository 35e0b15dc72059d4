"""A file with one JSON object per line into values: every line that is none is named with its reason."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from kbapp.domain.errors import UserError

SHOWN_FAULTS = 10
SHOWN_CHARACTERS = 60


class LineFault(ValueError):
    """What is wrong with one line."""


class FaultyLines(UserError):
    """A file of which nothing is used; ``faults``: of every wrong line, by its number, what is wrong with it."""

    def __init__(self, refusal: str, faults: Mapping[int, str]) -> None:
        super().__init__(f"{refusal}: {_listed(faults)}")
        self.faults = dict(faults)


class Identified(Protocol):
    """A value with an id of its own in the file."""

    @property
    def id(self) -> str:
        """The id."""


Value = TypeVar("Value", bound=Identified)


def parse_lines(
    text: str, keys: Sequence[str], parse: Callable[[Mapping[str, object], int], Value], *, refusal: str
) -> list[Value]:
    """The values of a file, in order; blank lines are ignored. ``parse`` takes an object with these keys and its line.

    ``refusal`` begins the sentence about a file with faults, of which nothing is used.

    Raises:
        FaultyLines: a line is no such object, or two have one id.
    """
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    faults: dict[int, str] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse(_object(line, keys), number)
            if value.id in values:
                raise LineFault(f"the id {shown(value.id)} is also in line {lines[value.id]}")
            values[value.id], lines[value.id] = value, number
        except LineFault as fault:
            faults[number] = str(fault)
    if faults:
        raise FaultyLines(refusal, faults)
    return list(values.values())


def id_of(value: object) -> str:
    """An id: a text, or a whole number."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else text_of(value, "id")


def text_of(value: object, name: str) -> str:
    """A text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise LineFault(f"{name} is not a text with something in it")
    return value.strip()


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """A list of such texts."""
    if not isinstance(value, list):
        raise LineFault(f"{name} is not a list")
    return tuple(text_of(text, f"{name}[{position}]") for position, text in enumerate(value, start=1))


def relative_path(path: str, known: Collection[str], base_folder: str) -> str:
    """The path of a document relative to the knowledge base, whose folder may stand in front."""
    path = unicodedata.normalize("NFC", path).removeprefix("./")
    return path if path in known else path.removeprefix(f"{unicodedata.normalize('NFC', base_folder)}/")


def shown(text: str) -> str:
    """A text in a sentence, in quotes and short."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…")


def _object(line: str, keys: Sequence[str]) -> Mapping[str, object]:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise LineFault(f"not JSON ({error.msg} at column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number of more digits, or nested deeper than Python takes
        raise LineFault(f"not JSON that can be read ({error})") from error
    if not isinstance(values, dict):
        raise LineFault("not a JSON object")
    missing = [key for key in keys if key not in values]
    if missing:
        raise LineFault(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    return values


def _listed(faults: Mapping[int, str]) -> str:
    """The first faults with their reasons, the others by their lines."""
    numbers = list(faults)
    listed = "; ".join(f"line {number}: {faults[number]}" for number in numbers[:SHOWN_FAULTS])
    rest = numbers[SHOWN_FAULTS:]
    return f"{listed}; and also line{'s' if len(rest) > 1 else ''} {', '.join(map(str, rest))}" if rest else listed
