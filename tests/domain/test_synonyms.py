"""The text of ``synonyms.yaml`` into groups (K6)."""

import pytest

from kbapp.domain.synonyms import NO_SYNONYMS, parse_synonyms


def test_k6_each_line_is_a_group_of_terms_as_they_are_written() -> None:
    text = "# 同义词\n- [熔断, circuit breaker, 断路器]\n- [on, 007, 1.10]\n-\n  - k8s\n  - Kubernetes\n"
    assert parse_synonyms(text).groups == (
        ("熔断", "circuit breaker", "断路器"),
        ("on", "007", "1.10"),
        ("k8s", "Kubernetes"),
    )
    assert parse_synonyms(text).problem is None


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "---\n", "[]"])
def test_k6_an_empty_file_has_no_groups_and_no_problem(text: str) -> None:
    assert parse_synonyms(text) == NO_SYNONYMS


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- [熔断, 断路器]\n- [k8s, Kubernetes\n- [a, b]\n", 3),
        ("- [熔断, 断路器]\n- k8s, Kubernetes\n", 2),
        ("- [熔断, 断路器]\n\n- [k8s, [Kubernetes]]\n", 3),
        ("- [熔断, 断路器]\n- []\n", 2),
        ("- [熔断, 断路器]\n- k8s: Kubernetes\n", 2),
        ("熔断: 断路器\n", 1),
        ("熔断\n", 1),
        ("- [熔断, *nobody]\n", 1),
    ],
)
def test_k6_a_file_of_another_form_names_the_line_and_the_way_out(text: str, line: int) -> None:
    found = parse_synonyms(text)
    assert found.groups == ()
    assert found.problem is not None
    assert found.problem.startswith(f"line {line}: ")
    assert "as in - [熔断, circuit breaker]" in found.problem


def test_k6_a_file_beyond_all_bounds_is_a_problem() -> None:
    assert "longer than" in str(parse_synonyms("- [甲, 乙]\n" * 10_000).problem)
    assert "nest" in str(parse_synonyms("[" * 10_000).problem)
