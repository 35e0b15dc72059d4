"""Probe queries that a given knowledge base hardly answers: everyday life, other fields, nonsense, other products (G5).

``probes.txt`` holds one a line, in groups that a line ``# <group>-<language>`` begins. None of them is in, or worded
after, a set of labelled queries that anything is measured on.
"""

from __future__ import annotations

from importlib.resources import files

GROUP_MARK = "# "


def probe_queries() -> dict[str, tuple[str, ...]]:
    """The probes of each group, ``everyday-zh`` and the like."""
    groups: dict[str, list[str]] = {}
    group: list[str] = []
    for line in files(__name__).joinpath("probes.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith(GROUP_MARK):
            group = groups.setdefault(line.removeprefix(GROUP_MARK), [])
        elif line:
            group.append(line)
    return {name: tuple(probes) for name, probes in groups.items()}
