"""Property and examples of what is left out of a text that was partly given before (M3)."""

from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.repeated_text import LEFT_OUT, SHINGLE_CHARACTERS, squeezed, without_repeats

LINE = "spring.datasource.hikari.maximum-pool-size = 20 # 连接池上限"
# Few letters, so that random texts repeat each other; blanks, which do not count.
TEXTS = st.text(alphabet="ab支 \n", min_size=30, max_size=300)


def shingles(text: str) -> set[str]:
    visible = squeezed(text)
    return {visible[start : start + SHINGLE_CHARACTERS] for start in range(len(visible) - SHINGLE_CHARACTERS + 1)}


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_m3_no_run_of_40_visible_characters_is_given_twice(text: str, earlier: list[str]) -> None:
    left = without_repeats(text, earlier)
    assert not any(shingles(part) & shingles(other) for part in left.split(LEFT_OUT) for other in earlier)


@given(TEXTS, TEXTS, st.integers(0, 60))
def test_m3_only_what_was_given_is_left_out(before: str, text: str, cut: int) -> None:
    earlier = before + text[cut:]
    kept = [squeezed(part) for part in without_repeats(text, [earlier]).split(LEFT_OUT)]
    rest = squeezed(text)
    assert rest.startswith(kept[0])
    rest = rest[len(kept[0]) :]
    for part in kept[1:]:
        left_out, _, rest = rest.partition(part) if part else (rest, "", "")
        assert left_out in squeezed(earlier)


@given(TEXTS)
def test_m3_nothing_is_left_of_a_text_that_was_given(text: str) -> None:
    assert without_repeats(text, ["before " + text]) == ""


def test_m3_a_shared_passage_is_marked_and_the_rest_stays() -> None:
    left = without_repeats(f"Cache pool\n{LINE}\nand its monitoring", [f"Database pool\n{LINE}\nand more"])
    assert left == f"Cache pool\n{LEFT_OUT}\nand its monitoring"


def test_m3_white_space_does_not_hide_a_repeat() -> None:
    assert without_repeats(LINE.replace(" ", "  \n"), [LINE]) == ""


def test_m3_a_phrase_shorter_than_a_shingle_may_stand_in_both() -> None:
    text = "使用 spring.datasource.hikari 时另见日志"
    assert without_repeats(text, ["配置 spring.datasource.hikari 的连接数"]) == text


def test_m3_a_short_text_that_an_earlier_one_holds_is_given() -> None:
    assert without_repeats("超时 30 秒", ["默认：超时30秒，可调"]) == ""
    assert without_repeats("超时 30 秒", ["默认：超时60秒，可调"]) == "超时 30 秒"


def test_m3_punctuation_alone_is_nothing_new() -> None:
    assert without_repeats(f"- {LINE}.", [LINE]) == ""


def test_m3_a_heading_alone_is_nothing_new() -> None:
    assert without_repeats(f"## 另一节\n{LINE}", [LINE]) == ""
    assert without_repeats(f"另一节\n{LINE}", [LINE]) == f"另一节\n{LEFT_OUT}"


def test_m3_a_text_of_one_character_over_and_over_ends_quickly() -> None:
    assert without_repeats("a" * 20_000, ["a" * 20_000]) == ""
