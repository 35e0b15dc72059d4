"""Which names and settings a backup holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.backup import Manifest, Member, check_member_name, parse_manifest
from kbapp.domain.backup_settings import differing, flat_settings, without_places, without_secrets
from kbapp.domain.errors import UserError

Given = TypeVar("Given")
_NAMES = st.text(st.sampled_from("./\\aé中 ~:\0\x1b\u202e\ud800"), max_size=12)


def refusal(work: Callable[[Given], object], given_value: Given) -> str | None:
    try:
        work(given_value)
    except UserError as error:
        return str(error)
    return None


@given(name=st.one_of(_NAMES, _NAMES.map(lambda name: f"documents/{name}.md")))
def test_a_name_that_is_taken_stays_in_its_folder_and_can_be_read(name: str) -> None:
    refused = refusal(check_member_name, name)
    if refused:
        assert refused.isprintable()
        return
    parts = name.split("/")
    assert parts[0] == "documents"
    assert len(parts) > 1
    assert not {"", ".", ".."} & set(parts)
    assert not any(part.startswith(".") for part in parts)
    assert not set("\0\x1b\u202e\ud800") & set(name)


@given(
    members=st.lists(
        st.builds(
            Member,
            name=st.text(st.sampled_from("ab中"), min_size=1).map(lambda text: f"documents/{text}.md"),
            size=st.integers(0, 2**40),
            sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
            mtime_ns=st.integers(0, 2**62),
        )
    )
)
def test_a_manifest_is_read_as_it_was_written(members: list[Member]) -> None:
    manifest = Manifest("0.1.0", "2026-01-01", "V021", "tiny:64", vectors=False, members=tuple(members))
    assert parse_manifest(manifest.to_bytes()) == manifest


@given(
    data=st.one_of(st.binary(max_size=40), st.from_regex(r'\{"format": 1, "members": \[.{0,20}\]\}').map(str.encode))
)
def test_bytes_that_are_no_manifest_are_a_sentence(data: bytes) -> None:
    refused = refusal(parse_manifest, data)
    assert refused is None or "manifest.json" in refused or "newer kbapp" in refused


def test_no_secret_is_kept_nested_or_dotted_and_none_that_is_empty_is_named() -> None:
    values = {
        "llm": {"api-key": "sk-1", "base-url": "http://127.0.0.1:11434/v1"},
        "embedding.api-key": "sk-2",
        "milvus": {"token": "", "uri": "https://user@host"},
        "knowledge": {"frontmatter-aliases": {"summary": ["abstract"]}},
    }
    kept, withheld = without_secrets(values, {"llm.api-key", "embedding.api-key", "milvus.token"})
    assert kept == {
        "llm.base-url": "http://127.0.0.1:11434/v1",
        "knowledge.frontmatter-aliases.summary": ["abstract"],
    }
    assert withheld == ["llm.api-key", "embedding.api-key", "milvus.uri"]


def test_places_stay_those_of_the_machine_and_other_values_are_named() -> None:
    archived = {"state-dir": "a", "knowledge.base-path": "b", "milvus.uri": "c", "llm.model": "m", "watch": {"x": 1}}
    assert without_places(archived) == {"llm.model": "m", "watch.x": 1}
    assert differing(archived, {"llm": {"model": "m"}, "watch.x": 2}) == ("watch.x",)
    assert dict(flat_settings({"a": {"b": None}})) == {}
