"""Matches with one score come by path, wherever their entries stand (K4)."""

import pytest

from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import MatchRules

COUNT = 40
RARE = (2, 17, 33)


def entry(path: str, *keywords: str) -> KnowledgeEntry:
    return KnowledgeEntry(path, "标题", keywords, None)


def paths(index: KeywordIndex, query: str) -> list[str]:
    return [match.entry.path for match in index.match(query)]


@pytest.mark.parametrize("query", ["超时", "请问超时"])
def test_k4_a_later_entry_comes_between_earlier_ones(query: str) -> None:
    index = KeywordIndex(MatchRules())
    index.replace([entry("b.md", "超时"), entry("d.md", "超时")])
    for path in ("c.md", "a.md", "e.md"):
        index.put(entry(path, "超时"))
    assert paths(index, query) == ["a.md", "b.md", "c.md", "d.md", "e.md"]


def test_k4_entries_with_the_same_several_keywords_come_by_path_before_those_with_one() -> None:
    index = KeywordIndex(MatchRules())
    index.replace([entry(f"{n:02}.md", "超时", *(["网关"] if n in RARE else [])) for n in range(COUNT)])
    expected = [*RARE, *(n for n in range(COUNT) if n not in RARE)]
    assert paths(index, "网关和超时") == [f"{n:02}.md" for n in expected]


def test_k4_entries_with_equal_scores_by_different_keywords_come_by_path() -> None:
    index = KeywordIndex(MatchRules())
    index.replace([entry(f"{n:02}.md", ("超时", "网关")[n % 2]) for n in range(6)])
    assert paths(index, "网关和超时") == [f"{n:02}.md" for n in range(6)]
