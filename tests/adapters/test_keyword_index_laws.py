"""The L0 index against a loop over all keywords of all entries, after any changes, and under threads."""

import re
import threading
from collections import Counter
from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.adapters.keyword_snapshot import MIN_CHANGED
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.keyword_matching import (
    FoundKeyword,
    KeywordMatch,
    MatchedKeyword,
    MatchRules,
    MatchTier,
    PreparedQuery,
    assess,
    can_be_contained,
    can_be_partial,
    prepare_query,
    rank_of,
    weigh,
)
from kbapp.domain.keyword_text import match_key, normal_text, trimmed

RULES = MatchRules(common_keyword_share=0.4, common_keyword_min_entries=4)

CAMEL_CUT = re.compile("(?<=[a-z0-9é])(?=[A-ZÉ])|(?<=[A-ZÉ])(?=[A-ZÉ][a-zé])")
BETWEEN_LETTERS = re.compile("(?<=[a-z0-9é])(?=[a-z0-9é])")

PIECES = ["支付", "网关", "支付网关", "超时", "时", "api", "API", "Pool", "ConnectionPool", "ERR", "8", "É"]
JOINTS = ["", "", "", "", " ", "\u3000", "_", "-", "？"]
LAW = settings(deadline=None)


def texts(most: int) -> st.SearchStrategy[str]:
    """Some pieces, joined or separated; now and then any characters."""
    piece, joint = st.sampled_from(PIECES), st.sampled_from(JOINTS)
    pieces = st.lists(st.tuples(piece, joint).map("".join), min_size=1, max_size=most).map("".join)
    return st.one_of(pieces, pieces, pieces, st.text(alphabet="支付网aAbB1_ ？é", max_size=most))


def entries_with(path: st.SearchStrategy[str]) -> st.SearchStrategy[KnowledgeEntry]:
    keywords = st.lists(texts(2), min_size=1, max_size=4).map(tuple)
    return st.builds(KnowledgeEntry, path=path, title=texts(3), keywords=keywords, summary=st.none())


PATHS = st.sampled_from([f"{folder}{name}.md" for folder in ("", "api/", "a-b/") for name in "abc支"])
ENTRIES = st.lists(entries_with(PATHS), min_size=1, max_size=8, unique_by=lambda entry: entry.path)


def word_edges(text: str) -> set[int]:
    """All positions but those between two letters or digits that are not CJK."""
    return set(range(len(text) + 1)) - {cut.start() for cut in BETWEEN_LETTERS.finditer(text)}


def part_edges(keyword: str) -> set[int]:
    """The word edges of the keyword's key, and its camel-case cuts."""
    marked = match_key(keyword if keyword.upper() == keyword else CAMEL_CUT.sub("\0", keyword))
    cuts = {position - marked[:position].count("\0") for position, letter in enumerate(marked) if letter == "\0"}
    return word_edges(match_key(keyword)) | cuts


def occurrences(text: str, part: str) -> Iterator[int]:
    return (start for start in range(len(text)) if text.startswith(part, start))


def covered_by(query: PreparedQuery, form: str) -> int:
    """The bits of the query where this form stands from word edge to word edge."""
    edges, bits = word_edges(query.text), 0
    for start in occurrences(query.text, form):
        if {start, start + len(form)} <= edges:
            bits |= sum(1 << place for place in range(start, start + len(form)))
    return bits


def find(query: PreparedQuery, keyword: str, tier: MatchTier, *, is_title: bool) -> FoundKeyword | None:
    """The rules of one tier for one keyword or title."""
    key, matched = match_key(keyword), MatchedKeyword(keyword, tier, is_title)
    if tier is MatchTier.EXACT and key == query.key:
        return FoundKeyword(matched, key, len(key), query.letters)
    if tier is MatchTier.CONTAINED and can_be_contained(key, is_title=is_title):
        bits = covered_by(query, key) | covered_by(query, trimmed(normal_text(keyword)))
        return FoundKeyword(matched, key, len(key), bits & query.letters) if bits else None
    if tier is MatchTier.PARTIAL and can_be_partial(query.key) and not is_title:
        length, edges = len(query.key), part_edges(keyword)
        if any({start, start + length} <= edges for start in occurrences(key, query.key)):
            return FoundKeyword(matched, key, length, query.letters)
    return None


def found_in(query: PreparedQuery, entry: KnowledgeEntry, tier: MatchTier) -> list[FoundKeyword]:
    keywords = {match_key(keyword): keyword for keyword in reversed(entry.keywords) if match_key(keyword)}
    found = [find(query, keyword, tier, is_title=False) for keyword in keywords.values()]
    if match_key(entry.title):
        found.append(find(query, entry.title, tier, is_title=True))
    return [one for one in found if one]


def loop_over_all(entries: list[KnowledgeEntry], text: str) -> list[KeywordMatch]:
    """What ``KeywordIndex.match`` gives in the literal tiers, the slow way."""
    query = prepare_query(text)
    for tier in (MatchTier.EXACT, MatchTier.CONTAINED, MatchTier.PARTIAL) if query.key else ():
        found = {entry: found_in(query, entry, tier) for entry in entries}
        frequency = Counter((one.key, one.matched.is_title) for ones in found.values() for one in ones)
        matches = []
        for entry, ones in found.items():
            hits = [weigh(one, frequency[one.key, one.matched.is_title], len(entries), RULES) for one in ones]
            if ones and (assessment := assess(query, sorted(hits, key=rank_of))):
                matches.append(KeywordMatch(entry, tier, assessment.score, assessment.matched, assessment.coverage))
        if matches or (tier is MatchTier.EXACT and frequency):
            return sorted(matches, key=lambda match: (-match.score, match.entry.path))
    return []


def literal(matches: list[KeywordMatch]) -> list[KeywordMatch]:
    return [match for match in matches if match.tier.is_literal]


def index_of(entries: list[KnowledgeEntry]) -> KeywordIndex:
    index = KeywordIndex(RULES)
    index.replace(entries)
    return index


def one(path: str, *keywords: str, title: str = "x") -> KnowledgeEntry:
    return KnowledgeEntry(path, title, keywords, None)


@LAW
@given(ENTRIES, texts(5))
@example([one("a.md", "Github"), one("b.md", "GitHub")], "hub")
@example([one("a.md", "支付 网关"), one("b.md", "支付网关")], "支付 网关 超时")
@example([one("a.md", "APIPool"), one("b.md", "api.pool")], "pool")
def test_k1_to_k5_the_index_agrees_with_a_loop_over_all_keywords(entries: list[KnowledgeEntry], query: str) -> None:
    assert literal(index_of(entries).match(query)) == loop_over_all(entries, query)


@LAW
@given(ENTRIES, st.data())
def test_k2_k5_keywords_and_their_parts_agree_with_a_loop_too(
    entries: list[KnowledgeEntry], data: st.DataObject
) -> None:
    keywords = [keyword for entry in entries for keyword in (*entry.keywords, entry.title)]
    keyword = data.draw(st.sampled_from(keywords))
    start = data.draw(st.integers(0, len(keyword)))
    query = data.draw(st.sampled_from([keyword, keyword[start:], keyword[:start], f"报{keyword}错"]))
    assert literal(index_of(entries).match(query)) == loop_over_all(entries, query)


MISTYPED = st.sampled_from(["ConectionPool", "conectionpool-err", "Connectoin", "api_Pol 超时", "aabbab"])
CHANGES = st.lists(entries_with(PATHS) | PATHS, max_size=12)


@LAW
@given(ENTRIES, CHANGES, st.lists(texts(4) | MISTYPED, min_size=1, max_size=4))
@example([one("a.md", "ConnectionPool")], ["a.md", one("b.md", "ConnectionPol")], ["ConnectionPool", "ConectionPool"])
def test_k4_after_any_changes_the_index_equals_a_fresh_one(
    entries: list[KnowledgeEntry], changes: list[KnowledgeEntry | str], queries: list[str]
) -> None:
    index, held = index_of(entries), {entry.path: entry for entry in entries}
    for change in changes:
        if isinstance(change, str):
            index.remove(change)
            held.pop(change, None)
        else:
            index.put(change)
            held[change.path] = change
    fresh = index_of(list(held.values()))
    assert index.entries() == fresh.entries() == tuple(sorted(held.values(), key=lambda entry: entry.path))
    assert len(index) == len(held)
    assert [index.entry(path) for path in held] == list(held.values())
    assert [index.match(query) for query in queries] == [fresh.match(query) for query in queries]


def test_k4_many_changes_one_by_one_equal_a_fresh_index() -> None:
    count = 3 * MIN_CHANGED
    index = KeywordIndex(RULES)
    for number in reversed(range(count)):
        index.put(one(f"{number:03}.md", f"旧词{number}", "共有"))
    for number in range(0, count, 2):
        index.put(one(f"{number:03}.md", f"新词{number}"))
        index.remove(f"{number + 1:03}.md")
    fresh = index_of([one(f"{number:03}.md", f"新词{number}") for number in range(0, count, 2)])
    assert index.entries() == fresh.entries()
    for query in ("新词", "旧词", "共有", "新词2", "请问新词4和旧词5"):
        assert index.match(query) == fresh.match(query)


def test_a_lookup_never_sees_half_of_a_change() -> None:
    index, done, torn = KeywordIndex(MatchRules()), threading.Event(), []
    generations = [
        [one(f"{number}.md", "超时", f"第{generation}代") for number in range(20)] for generation in range(2)
    ]
    index.replace(generations[0])

    def look() -> None:
        while not done.is_set():
            seen = {match.entry.keywords for match in index.match("超时")}
            if len(seen) != 1 or len(index.match("超时")) != 20:
                torn.append(seen)

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(200):
        index.replace(generations[turn % 2])
        index.put(generations[turn % 2][turn % 20])
    done.set()
    for reader in readers:
        reader.join()
    assert torn == []
