from kbapp.domain.chunking import repeated_lines, split_document, without_lines
from kbapp.domain.documents import Document, TitleSource

FOOTER = "© 2026 某公司 内部资料，请勿外传"


def bodies(count: int, with_footer: int, line: str = FOOTER) -> list[str]:
    return [f"# 文档{n}\n\n正文{n}\n\n{line}\n" if n < with_footer else f"# 文档{n}\n\n正文{n}\n" for n in range(count)]


def test_c8_a_line_in_more_than_thirty_percent_of_the_documents_is_repeated():
    assert repeated_lines(bodies(20, 7)) == {FOOTER}
    assert repeated_lines(bodies(20, 6)) == frozenset()


def test_c8_nothing_is_repeated_in_fewer_than_twenty_documents():
    assert repeated_lines(bodies(19, 19)) == frozenset()
    assert repeated_lines(bodies(5, 5), min_documents=5) == {FOOTER}


def test_c8_the_share_is_a_parameter():
    assert repeated_lines(bodies(20, 7), share=0.5) == frozenset()
    assert repeated_lines(iter(bodies(20, 3)), share=0.1) == {FOOTER}


def test_c8_a_line_counts_once_for_each_document_and_whatever_its_indentation():
    assert repeated_lines([f"{FOOTER}\n" * 9, *bodies(19, 0)]) == frozenset()
    assert repeated_lines([f"  {FOOTER}  " for _ in range(20)]) == {FOOTER}


def test_c8_structure_is_never_a_repeated_line():
    for line in ("", "   ", "---", "|---|:--:|", "```bash", "~~~", "}", "……", "* * *"):
        assert repeated_lines(bodies(20, 20, line)) == frozenset()


def test_c8_a_repeated_line_is_left_out_of_the_embedded_text_and_kept_in_the_shown_one():
    document = Document("a.md", "文档", TitleSource.FRONTMATTER, None, f"## 节\n\n正文\n\n  {FOOTER}", 1, 0, "", None)
    (chunk,) = split_document(document)
    assert without_lines(chunk.embedded_text, frozenset({FOOTER})) == "文档 > 节\n## 节\n\n正文\n"
    assert FOOTER in chunk.content


def test_c8_a_text_of_repeated_lines_alone_stays_as_it_is():
    assert without_lines(f"{FOOTER}\n\n{FOOTER}", frozenset({FOOTER})) == f"{FOOTER}\n\n{FOOTER}"
