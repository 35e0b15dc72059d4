"""Rows to Markdown: the table of a run, its growth, and two commits side by side."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from measure import Row, significant

MISSED = "**missed**"
LEAST_NOISE = 0.05  # what two runs on an idle machine differ by, anyway


def growth_exponent(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """The slope of the straight line through the logarithms (1: twice the size takes twice as long); None: no line."""
    points = [(math.log(size), math.log(value)) for size, value in zip(sizes, values, strict=True) if value > 0]
    if len({x for x, _ in points}) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return above / sum((x - mean_x) ** 2 for x, _ in points)


def figures_table(groups: Mapping[str, Sequence[Row]]) -> str:
    """Every row, with its raw counterpart, target and whether that is met."""
    lines = [
        "| what | size | p50 | p99 | raw counterpart | ratio | target | |",
        "|---|--:|--:|--:|---|--:|---|---|",
    ]
    for group, rows in groups.items():
        lines.append(f"| **{group}** | | | | | | | |")
        lines += [_line(row) for row in rows]
    return "\n".join(lines)


def growth_table(rows: Iterable[Row]) -> str:
    """The p50 of each figure that was measured at three sizes or more, and the fitted exponent."""
    series: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    for row in rows:
        series[row.name, row.of, row.unit][row.size] = row.p50
    lines = ["| what | p50 by size | exponent |", "|---|---|--:|"]
    for (name, of, unit), by_size in series.items():
        exponent = growth_exponent(list(by_size), list(by_size.values())) if len(by_size) >= 3 else None
        if exponent is None:
            continue
        figures = " · ".join(f"{size:,}: {_number(value)}" for size, value in sorted(by_size.items()))
        lines.append(f"| {name}, {unit} | {figures} {of} | {exponent:.2f} |")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of two commits, each measured more than once; ``noise`` is a share, from runs of the same commit."""

    name: str
    unit: str
    old: float
    new: float
    noise: float

    @property
    def ratio(self) -> float:
        """New over old."""
        if self.old == 0:
            return 1.0 if self.new == 0 else math.inf
        return self.new / self.old

    @property
    def verdict(self) -> str:
        """Whether the two differ by more than the same commit differs from itself."""
        least, most = sorted((self.old, self.new))
        if most <= least * (1 + self.noise):
            return "="
        is_better = (self.new > self.old) == is_more_better(self.unit)
        return "better" if is_better else "**worse**"


def is_more_better(unit: str) -> bool:
    """Throughput is in something per second."""
    return unit.endswith("/s")


def changes(old_runs: Sequence[Iterable[Row]], new_runs: Sequence[Iterable[Row]]) -> list[Change]:
    """What both commits have; the figure of a commit is the best of its runs, the noise what they differ by."""
    old, new = _by_key(old_runs), _by_key(new_runs)
    return [
        Change(
            f"{name}, {size:,} {of}",
            unit,
            _best(old[name, size, of, unit], unit),
            _best(values, unit),
            max(LEAST_NOISE, _spread(values), _spread(old[name, size, of, unit])),
        )
        for (name, size, of, unit), values in new.items()
        if (name, size, of, unit) in old
    ]


def changes_table(found: Iterable[Change]) -> str:
    lines = ["| what | old p50 | new p50 | new / old | noise | |", "|---|--:|--:|--:|--:|---|"]
    lines += [
        f"| {each.name} | {_number(each.old)} {each.unit} | {_number(each.new)} {each.unit} | {each.ratio:.2f} "
        f"| ± {each.noise:.0%} | {each.verdict} |"
        for each in found
    ]
    return "\n".join(lines)


def replaced_between(text: str, begin: str, end: str, content: str) -> str:
    """The text with ``content`` in place of what stands between the two marks.

    Raises:
        ValueError: a mark is missing.
    """
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the marks {begin!r} and {end!r} are not both there")
    return f"{before}{begin}\n\n{content.strip()}\n\n{end}{after}"


def _by_key(runs: Sequence[Iterable[Row]]) -> dict[tuple[str, int, str, str], list[float]]:
    values: dict[tuple[str, int, str, str], list[float]] = defaultdict(list)
    for run in runs:
        for row in run:
            values[row.name, row.size, row.of, row.unit].append(row.p50)
    return values


def _best(values: Sequence[float], unit: str) -> float:
    return max(values) if is_more_better(unit) else min(values)


def _spread(values: Sequence[float]) -> float:
    return max(values) / min(values) - 1 if min(values) > 0 else 0.0


def _line(row: Row) -> str:
    raw = "" if row.raw is None else f"{row.raw}: {_number(row.raw_p50)}"
    met = {None: "", True: "met", False: MISSED}[row.meets]
    name = f"{row.name} ({row.note})" if row.note else row.name
    cells = (
        name,
        f"{row.size:,} {row.of}",
        f"{_number(row.p50)} {row.unit}",
        _number(row.p99),
        raw,
        _number(row.ratio),
        row.target or "",
        met,
    )
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    """Three digits."""
    if value is None:
        return ""
    shown = significant(float(f"{value:.3g}"))
    return f"{shown:,.0f}" if shown is not None and abs(shown) >= 1000 else f"{shown:g}"
