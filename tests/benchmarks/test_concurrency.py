"""What counts as a stale and as a mixed answer."""

from __future__ import annotations

from concurrency import Known, Tally, added_up, check, versions_in, write_version

from kbapp.domain.lookup_result import Confidence, LookupResult, PrimaryResult, SupplementResult


def answer(primary: str = "", supplement: str = "") -> LookupResult:
    return LookupResult(
        found=True,
        primary=PrimaryResult(primary, "s", "t", Confidence.LOW, None) if primary else None,
        supplement=SupplementResult(supplement, "s", "t", "b") if supplement else None,
        relevance_level=None,
        completeness_hint=None,
        retrieved_domains=(),
        message=None,
        dedup_reason=None,
        degraded=None,
        invocation_id="i",
    )


def checked(result: LookupResult, known: Known) -> Tally:
    tally = Tally()
    check(result, known.snapshot(), tally, known)
    return tally


def test_a_written_version_is_found_in_every_section_and_in_the_summary(tmp_path):
    write_version(tmp_path, 7, 12)
    text = (tmp_path / "changing" / "subject007.md").read_text(encoding="utf-8")
    assert list(versions_in(answer(primary=text))) == [(("007", "metadata"), 12)] * 5
    assert "summary: the checklist of subject007 as of rev007v000012" in text


def test_an_answer_older_than_what_was_committed_is_stale():
    known = Known()
    known.raise_to(("007", "L1"), 2)
    known.raise_to(("007", "L1"), 1)
    assert checked(answer(supplement="rev007v000001"), known).stale == 1
    assert checked(answer(supplement="rev007v000002"), known).stale == 0
    assert checked(answer(supplement="rev008v000001"), known).stale == 0


def test_what_was_seen_once_is_not_to_be_followed_by_an_older_one_of_the_same_level():
    known = Known()
    checked(answer(supplement="rev007v000003"), known)
    assert checked(answer(supplement="rev007v000002"), known).stale == 1
    assert checked(answer(primary="rev007v000002"), known).stale == 0


def test_two_versions_of_one_document_in_an_answer_are_mixed_whichever_part_they_are_in():
    assert checked(answer(primary="rev007v000001 rev007v000002"), Known()).mixed == 1
    assert checked(answer("rev007v000001", "rev007v000002"), Known()).mixed == 1
    assert checked(answer("rev007v000001", "rev008v000002"), Known()).mixed == 0


def test_what_the_threads_found_is_added_up():
    tallies = [Tally([1.0], 1, 2, 3, 4, ["e"]), Tally([2.0], 10, 20, 30, 40, [])]
    assert added_up(tallies, 5, 6.0) == Tally([1.0, 2.0], 11, 22, 33, 44, ["e"], 5, 6.0)
