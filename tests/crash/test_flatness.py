"""What ``make soak`` calls flat."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from tests.crash.flatness import FEWEST_SAMPLES, Sample, growth, sample

WARM = [Sample(100.0 + number, 5 + number, 10 + number) for number in range(6)]
STEADY = [Sample(200.0 + number % 3, 12, 20) for number in range(12)]


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ([Sample(209.0, 12, 20)] * 6, []),
        ([Sample(213.0, 12, 20)] * 6, ["memory"]),
        ([Sample(200.0, 13, 20)] * 6, ["threads"]),
        ([Sample(200.0, 12, 21)] * 6, ["handles"]),
        ([Sample(900.0, 99, 99), *STEADY[:5]], []),
        ([Sample(100.0, 3, 3)] * 6, []),
    ],
)
def test_growth_after_the_warm_up_is_told_and_a_peak_is_not(last: Sequence[Sample], words: list[str]) -> None:
    told = list(growth([*WARM, *STEADY[:6], *last]))
    assert [each.split(":")[0] for each in told] == words


def test_growth_while_it_warms_up_and_few_samples_tell_nothing() -> None:
    assert list(growth([*WARM, *STEADY])) == []
    assert list(growth([Sample(100.0 * number, number, number) for number in range(FEWEST_SAMPLES - 1)])) == []


def test_a_sample_counts_threads_and_handles() -> None:
    before = sample(os.getpid())
    descriptor = os.open(os.devnull, os.O_RDONLY)
    after = sample(os.getpid())
    os.close(descriptor)
    assert before.rss_mb > 1
    assert before.threads >= 1
    assert after.handles == before.handles + 1
