"""Any bytes are a document or a sentence, and what is indexed of a document is all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.domain.chunking import ChunkingOptions, split_document
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.errors import UserError
from kbapp.domain.keyword_matching import MatchRules
from kbapp.domain.synonyms import parse_synonyms
from kbapp.domain.tokens import content_tokens
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.quoted import plain
from tests.fuzz.inputs import files, fuzz, outcome, texts
from tests.knowledge import open_for_test

keywords = st.lists(texts.filter(str.strip), max_size=3).map(tuple)
entries = st.lists(
    st.builds(KnowledgeEntry, st.sampled_from(["a.md", "b/c.md", "d.md"]), texts, keywords, st.none()),
    max_size=3,
    unique_by=lambda entry: entry.path,
)
plain_names = st.sampled_from(["a", "支付 网关", "A-b_c.v1", "é"])
names = (plain_names | st.text("aB支é .-_'", min_size=1, max_size=12) | texts).map(lambda text: f"{text}.md")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path_factory.mktemp("fuzz")) as kb:
        yield kb


@given(files)
@fuzz(200)
def test_c6_the_chunks_of_any_file_cover_its_body(data: bytes) -> None:
    reader = DocumentFiles(Path("docs"))
    document = outcome(lambda: reader.parse("a.md", data))
    if isinstance(document, UserError):
        assert "a.md" in str(document)
        return
    assert reader.parse_entry("a.md", data) == document.entry
    position = 0
    for chunk in split_document(document, ChunkingOptions(120)):
        start = document.body.index(chunk.content, position)
        assert not document.body[position:start].strip()
        position = start + len(chunk.content)
    assert not document.body[position:].strip()


@given(texts, st.integers(100, 400))
@fuzz(120)
def test_c6_the_chunks_of_any_text_are_within_the_limit_and_of_its_lines(text: str, size: int) -> None:
    document = outcome(lambda: DocumentFiles(Path("docs")).parse("a.md", text.encode("utf-8", "replace")))
    if isinstance(document, UserError):
        return
    lines = document.body.split("\n")
    for chunk in split_document(document, ChunkingOptions(size)):
        assert 0 < len(chunk.content) <= size
        first, last = (line - document.body_first_line for line in chunk.lines)
        assert chunk.content in "\n".join(lines[first : last + 1])


@given(entries, texts)
@fuzz(120)
def test_k1_matching_is_case_insensitive_whatever_is_asked(held: list[KnowledgeEntry], query: str) -> None:
    index = KeywordIndex(MatchRules())
    index.replace(held)
    for asked in (query, *(keyword for entry in held for keyword in entry.keywords)):
        found = [(match.entry.path, match.tier) for match in index.match(asked)]
        assert [(match.entry.path, match.tier) for match in index.match(asked.upper())] == found
        assert [(match.entry.path, match.tier) for match in index.match(f"  {asked}\n")] == found


@given(texts)
@fuzz(120)
def test_no_text_breaks_what_reads_texts(text: str) -> None:
    assert all(content_tokens(text))
    assert isinstance(parse_synonyms(text).groups, tuple)
    assert isinstance(plain(text), str)


@given(names, files, st.sampled_from(["api", "a b", "支付"]))
@example("a.md", b"\xef\xbb\xbf---\r\ntitle: a\r\n---\r\n\r\nb \t\r\n\n", "api")
@fuzz(50)
def test_u2_what_was_uploaded_is_read_back_byte_for_byte(
    kb: KnowledgeBase, name: str, data: bytes, category: str
) -> None:
    result = outcome(lambda: kb.upload(name, data, category))
    if isinstance(result, UserError):
        return
    record = result.record
    try:
        assert kb._parts.files.read_bytes(record.path) == data
        assert [each.path for each in kb.documents()] == [record.path]
        outcome(lambda: kb.lookup(data.decode("utf-8", "replace")[:200]))
    finally:
        kb.delete(record.path)
    assert kb.documents() == []
