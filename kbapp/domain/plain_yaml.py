"""YAML text into JSON values: scalars stay as written (``2024-01-01``, ``on``, ``1:30``), size and depth bounded."""

from __future__ import annotations

from collections.abc import Callable

import yaml

from kbapp.domain.documents import JsonValue

MAX_CHARACTERS = 65_536
MAX_DEPTH = 32

# libyaml reads a frontmatter ten times faster; both loaders give the same events.
_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

# Escapes such as "\0" can write what no index can hold: control characters and lone surrogates.
_UNSTORABLE = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000)])


class YamlProblem(Exception):
    """The text is not YAML that we read; ``line`` is 1-based, None when unknown."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def read_yaml(text: str) -> JsonValue:
    """The one YAML document in the text, None when there is none.

    Tags mean nothing; an alias counts with all that it stands for; of two equal keys the later wins.

    Raises:
        YamlProblem: not YAML, several documents, or beyond the limits of size and depth.
    """
    if len(text) > MAX_CHARACTERS:
        raise YamlProblem(f"it is longer than {MAX_CHARACTERS:,} characters")
    try:
        return _Reader(_Loader(text).get_event).document()
    except yaml.MarkedYAMLError as error:
        raise YamlProblem(error.problem or "it is not YAML", _line(error.problem_mark)) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlProblem("it holds a character that YAML does not allow") from error


class _Reader:
    """Builds one document's value from its events; for one use."""

    def __init__(self, next_event: Callable[[], yaml.Event]) -> None:
        self._next = next_event
        self._anchors: dict[str, JsonValue] = {}
        self._alias_budget = MAX_CHARACTERS

    def document(self) -> JsonValue:
        """The value of the only document."""
        self._next()  # the start of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        value = self._value(self._next(), 0)
        self._next()  # the end of the document
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            raise YamlProblem("it holds a second YAML document", _line(event.start_mark))
        return value

    def _value(self, event: yaml.Event, depth: int) -> JsonValue:
        value: JsonValue
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.value.isprintable() else event.value.translate(_UNSTORABLE)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(event, depth)
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(event, depth)
        else:
            return self._anchored(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _sequence(self, start: yaml.Event, depth: int) -> JsonValue:
        _check_depth(depth + 1, start)
        values: list[JsonValue] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event, depth + 1))
        return values

    def _mapping(self, start: yaml.Event, depth: int) -> JsonValue:
        _check_depth(depth + 1, start)
        values: dict[str, JsonValue] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._value(event, depth + 1)
            if not isinstance(key, str):
                raise YamlProblem("a list or a mapping stands where a key must be", _line(event.start_mark))
            values[key] = self._value(self._next(), depth + 1)
        return values

    def _anchored(self, event: yaml.Event, depth: int) -> JsonValue:
        if not isinstance(event, yaml.AliasEvent) or event.anchor not in self._anchors:
            raise YamlProblem("an alias has no anchor before it", _line(event.start_mark))
        value = self._anchors[event.anchor]
        size, height = _extent(value)
        self._alias_budget -= size
        if self._alias_budget < 0:
            raise YamlProblem("its aliases stand for too much text", _line(event.start_mark))
        _check_depth(depth + height, event)
        return value


def _extent(value: JsonValue) -> tuple[int, int]:
    """The size of a value, about its characters, and its number of levels."""
    if isinstance(value, str):
        return len(value) + 1, 0
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    extents = [_extent(part) for part in parts]
    return 1 + sum(size for size, _ in extents), 1 + max((height for _, height in extents), default=0)


def _check_depth(depth: int, event: yaml.Event) -> None:
    if depth > MAX_DEPTH:
        raise YamlProblem(f"it is nested deeper than {MAX_DEPTH} levels", _line(event.start_mark))


def _line(mark: object) -> int | None:
    line = getattr(mark, "line", None)
    return line + 1 if isinstance(line, int) else None
