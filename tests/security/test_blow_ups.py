"""A small hostile file must not become a large amount of anything: blocks, headings, chunks, values."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.synonyms_file import SynonymsFile
from kbapp.domain.chunking import split_document
from kbapp.domain.documents import Chunk, Document
from kbapp.domain.errors import KbError, UserError
from kbapp.domain.headings import MAX_HEADINGS, parse_headings
from kbapp.domain.labelled_queries import parse_labelled_queries
from kbapp.domain.markdown_blocks import MAX_LINES, parse_blocks
from kbapp.domain.tasks import parse_tasks
from kbapp.settings import Settings
from kbapp.surfaces.ui.kb_markdown import MAX_CHARACTERS, document_html

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
LARGEST = 5 * 1024 * 1024


def parsed(text: str) -> Document:
    return DocumentFiles(Path("kb")).parse("a.md", text.encode())


def letters_of(chunks: tuple[Chunk, ...]) -> str:
    return "".join("".join(chunk.content.split()) for chunk in chunks)


@pytest.mark.parametrize("line", ["# a\n", "x\n\n", "|a|\n", "```\n", "> x\n", "<b>\n", "a\n=\n", "[a]: x\n"])
def test_more_lines_than_any_book_has_are_cut_by_length_and_none_is_lost(line: str) -> None:
    text = "# Title\n" + line * (MAX_LINES + 1)
    document = parsed(text)
    chunks = split_document(document)
    assert parse_headings(document.body) == ()
    assert parse_blocks(document.body) == ()
    assert len(chunks) <= len(text) // 250
    assert max(len(chunk.content) for chunk in chunks) <= 500
    assert letters_of(chunks) == "".join(text.split())


def test_more_headings_than_any_book_has_make_no_more_chunks() -> None:
    text = "".join(f"# h{number}\nx{number}\n" for number in range(MAX_HEADINGS + 2_000))
    chunks = split_document(parsed(text))
    assert len({chunk.breadcrumb for chunk in chunks}) == MAX_HEADINGS
    assert len(chunks) <= MAX_HEADINGS + 2_000 * 20 // 250
    assert chunks[-1].content.endswith(f"# h{MAX_HEADINGS + 1_999}\nx{MAX_HEADINGS + 1_999}")


@pytest.mark.parametrize(
    "text", ["x" * LARGEST, ">" * LARGEST, "- " * (LARGEST // 2), "[" * LARGEST, "*a_" * (LARGEST // 3)]
)
def test_the_largest_file_of_one_line_makes_chunks_by_its_length(text: str) -> None:
    assert len(split_document(parsed(text))) <= LARGEST // 250


@pytest.mark.parametrize("mark", ["> ", "- ", "[", "*", "<div>", "`"])
def test_a_page_shows_the_beginning_of_a_document_whatever_is_nested_in_it(mark: str) -> None:
    assert len(document_html(mark * LARGEST)) < 5 * MAX_CHARACTERS


@pytest.mark.parametrize(
    "text", [BOMB, "[" * 5_000, "x: " + "y" * 70_000, "{" * 40 + "}" * 40], ids=["aliases", "open", "long", "deep"]
)
def test_a_bomb_of_yaml_is_text_in_a_document_and_a_sentence_elsewhere(tmp_path: Path, text: str) -> None:
    document = parsed(f"---\ntitle: t\n{text}\n---\nbody\n")
    assert document.frontmatter is None
    assert "body" in document.body
    (tmp_path / "synonyms.yaml").write_text(text, encoding="utf-8")
    found = SynonymsFile(tmp_path, lambda _, __: None).read()
    assert found.problem
    assert not found.groups
    (tmp_path / "kbapp.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="cannot be read as YAML"):
        Settings.load(tmp_path / "kbapp.yaml", environ={})


def test_a_bomb_in_a_setting_is_refused_before_its_value_is_shown(tmp_path: Path) -> None:
    names = [
        "llm.model",
        "llm.base-url",
        "embedding.model",
        "embedding.base-url",
        "milvus.uri",
        "watch.debounce-seconds",
    ]
    names += ["watch.reconcile-seconds", "telemetry.keep-days", "session.idle-minutes", "state-dir"]
    text = BOMB
    for letter, name in zip("abcdefghij", names, strict=True):
        text = text.replace(f"{letter}: &", f"{name}: &")
    (tmp_path / "kbapp.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="aliases stand for too much"):
        Settings.load(tmp_path / "kbapp.yaml", environ={})


@pytest.mark.parametrize("value", ["[" * 100_000, '{"query": ' * 50_000, "1" * 100_000])
def test_lines_of_json_that_nest_without_end_are_named(value: str) -> None:
    with pytest.raises(KbError, match="line 1"):
        parse_labelled_queries(value, ["a.md"], "kb")
    with pytest.raises(KbError, match="line 1"):
        parse_tasks(value)
