"""YAML into JSON values as written, within limits."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain import plain_yaml
from kbapp.domain.plain_yaml import MAX_CHARACTERS, MAX_DEPTH, YamlProblem, read_yaml


@pytest.fixture(params=["libyaml", "python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both loaders of PyYAML; without libyaml only the second exists."""
    if request.param == "python":
        monkeypatch.setattr(plain_yaml, "_Loader", yaml.BaseLoader)
    return str(request.param)


def test_scalars_stay_as_written(loader: str) -> None:
    text = "a: 2024-01-01\nb: 1:30\nc: on\nd: 007\ne: ~\nf: 1e3\ng:\nh: '5'\ni: !!int 5"
    assert read_yaml(text) == {
        "a": "2024-01-01",
        "b": "1:30",
        "c": "on",
        "d": "007",
        "e": "~",
        "f": "1e3",
        "g": "",
        "h": "5",
        "i": "5",
    }


def test_lists_and_mappings_nest(loader: str) -> None:
    assert read_yaml("a: [1, {b: c}]\nd:\n  - e\n  - f: g\n") == {"a": ["1", {"b": "c"}], "d": ["e", {"f": "g"}]}


@pytest.mark.parametrize(("text", "value"), [("", None), ("# comment", None), ("text", "text"), ("- a", ["a"])])
def test_any_kind_of_document_is_a_value(loader: str, text: str, value: object) -> None:
    assert read_yaml(text) == value


def test_of_two_equal_keys_the_later_wins(loader: str) -> None:
    assert read_yaml("a: 1\nb: 2\na: 3") == {"a": "3", "b": "2"}


def test_an_alias_stands_for_its_anchor(loader: str) -> None:
    assert read_yaml("a: &x [1, 2]\nb: *x\nc: &y text\nd: *y") == {
        "a": ["1", "2"],
        "b": ["1", "2"],
        "c": "text",
        "d": "text",
    }


def test_a_bomb_of_aliases_is_refused(loader: str) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    with pytest.raises(YamlProblem, match="aliases stand for too much"):
        read_yaml("\n".join(lines))


def test_a_long_text_repeated_by_aliases_is_refused(loader: str) -> None:
    with pytest.raises(YamlProblem, match="aliases stand for too much"):
        read_yaml("a: &x " + "y" * 30_000 + "\nb: [*x, *x, *x]")


def test_nesting_through_aliases_counts_as_nesting(loader: str) -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, MAX_DEPTH + 1))]
    with pytest.raises(YamlProblem, match="nested deeper"):
        read_yaml("\n".join(lines))


@pytest.mark.parametrize("text", ["a: " + "[" * 60_000, "- " * 30_000, "{a: " * 15_000, "? " * 30_000])
def test_deep_nesting_is_refused(loader: str, text: str) -> None:
    with pytest.raises(YamlProblem, match="nest"):
        read_yaml(text)


def test_nesting_up_to_the_limit_is_read(loader: str) -> None:
    assert json.dumps(read_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH)) == "[" * MAX_DEPTH + "]" * MAX_DEPTH
    with pytest.raises(YamlProblem, match="nested deeper"):
        read_yaml("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_a_text_beyond_the_limit_is_refused(loader: str) -> None:
    assert read_yaml("a" * MAX_CHARACTERS) == "a" * MAX_CHARACTERS
    with pytest.raises(YamlProblem, match="longer than 65,536"):
        read_yaml("a" * (MAX_CHARACTERS + 1))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title: Error: disk full", 1),
        ("a: b\nkeywords: [x", 2),
        ("a: b\n\tc: d", 2),
        ("a: *nowhere", 1),
        ("a: &a [*a]", 1),
        ("a: 1\n--- b", 2),
        ("x: y\na: {{ title }}", 2),
        ("[a, b]: c", 1),
        ("a: @b", 1),
    ],
)
def test_what_is_not_yaml_is_a_problem_with_its_line(loader: str, text: str, line: int) -> None:
    with pytest.raises(YamlProblem) as caught:
        read_yaml(text)
    assert caught.value.reason
    assert caught.value.line in {line, line + 1}  # libyaml notices an open bracket at the end, on the line after


@pytest.mark.parametrize("text", ["a: \x07", "a: \ud800", "a\x00"])
def test_characters_that_yaml_forbids_are_a_problem(loader: str, text: str) -> None:
    with pytest.raises(YamlProblem, match="does not allow"):
        read_yaml(text)


def test_escaped_control_characters_are_left_out(loader: str) -> None:
    assert read_yaml('a: "x\\0y\\x1b\\tz"') == {"a": "xy\tz"}


@given(st.text(max_size=200))
def test_every_text_is_a_json_value_or_a_problem(text: str) -> None:
    try:
        value = read_yaml(text)
    except YamlProblem:
        return
    assert json.loads(json.dumps(value, ensure_ascii=False).encode()) == value


JSON_VALUES = st.recursive(
    st.text(st.characters(exclude_categories=["C"]), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc键", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON_VALUES)
def test_what_is_written_as_yaml_is_read_back(value: object) -> None:
    assert read_yaml(yaml.safe_dump(value, allow_unicode=True, default_style='"')) == value
