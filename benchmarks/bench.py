"""Runs all groups of figures, one process after the other, and writes what they gave.

    python benchmarks/bench.py [--scale tiny|quick|full] [--groups L0 lookup …] [--against COMMIT] [--work DIR]

Writes ``benchmarks/results/<commit>[-full].json`` and, when all groups were run, the table in ``benchmarks/README.md``.
With ``--against`` each group also measures the package of that commit, by these same scripts: new, old, old, new. A
figure counts as changed when the best of the runs of both commits differ by more than two runs of one commit do, and by
more than 5 %; ``--against HEAD`` in a clean checkout says what the noise is. What the other commit has no name for is
left out. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from measure import SCALES, Row, machine
from table import changes, changes_table, figures_table, growth_table, replaced_between

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
BUILD = PROJECT / "build" / "bench"
README = HERE / "README.md"
GROUPS = {
    "L0": "l0_rows",
    "start and processes": "start",
    "lookup": "lookup",
    "indexing": "indexing",
    "memory": "memory",
    "telemetry": "telemetry",
    "concurrency": "concurrency",
}
PACKAGE = ("kbapp", "pages", "app.py")


@dataclass
class Package:
    """A kbapp to be measured, and what it gave: by group, one list of rows for each run."""

    commit: str
    folder: Path
    work: Path
    is_lenient: bool
    runs: dict[str, list[list[Row]]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def measure(self, group: str, scale: str) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(HERE / f"{GROUPS[group]}.py"), "--json", "--scale", scale]
        command += ["--work", str(self.work), *(["--lenient"] if self.is_lenient else [])]
        start = time.monotonic()
        done = subprocess.run(command, cwd=self.work, env=self.environment, stdout=subprocess.PIPE, text=True)
        print(f"{group}, {self.commit}: {time.monotonic() - start:.0f} s", file=sys.stderr)
        if done.returncode:
            self.failed.append(group)
            return
        self.runs.setdefault(group, []).append([Row(**values) for values in json.loads(done.stdout)])

    @property
    def environment(self) -> dict[str, str]:
        """PYTHONPATH comes before what is installed, and these processes do not run in a checkout."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("KBAPP_")}
        return own | {"PYTHONPATH": str(self.folder)}

    def check(self) -> None:
        """Guards against measuring the wrong package."""
        BUILD.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-c", "import kbapp; print(kbapp.__file__)"]
        found = subprocess.run(
            command, cwd=BUILD, env=self.environment, check=True, capture_output=True, text=True
        ).stdout
        if not Path(found.strip()).is_relative_to(self.folder / "kbapp"):
            raise SystemExit(f"the package of {self.commit} is not the one that is imported")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=PROJECT, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def checked_out(commit: str | None, work: Path) -> Iterator[Package | None]:
    """The package of a commit in a worktree of its own while the block runs."""
    if commit is None:
        yield None
        return
    short = git("rev-parse", "--short", commit)
    folder = BUILD / f"commit-{short}-{os.getpid()}"
    git("worktree", "add", "--detach", str(folder), short)
    try:
        yield Package(f"{short} (other)", folder, work / "other", is_lenient=True)
    finally:
        git("worktree", "remove", "--force", str(folder))


def measure(groups: Sequence[str], packages: Sequence[Package], scale: str, rounds: int) -> None:
    """Group by group; of two packages each is as often the first."""
    for group in groups:
        for number in range(rounds):
            for package in packages if number % 2 == 0 else reversed(packages):
                package.measure(group, scale)


def result_of(own: Package, other: Package | None, scale: str, described: dict[str, object]) -> dict[str, object]:
    result: dict[str, object] = {
        "commit": own.commit,
        "scale": scale,
        "measured": datetime.now(UTC).isoformat(timespec="minutes"),
        **described,
        "failed": own.failed,
        "rows": {group: [asdict(row) for row in runs[0]] for group, runs in own.runs.items()},
    }
    if other:
        result["against"] = {
            "commit": other.commit.split()[0],
            "failed": other.failed,
            "changes": [asdict(change) for change in all_changes(own, other)],
        }
    return result


def all_changes(own: Package, other: Package) -> list:
    return [change for group, runs in own.runs.items() for change in changes(other.runs.get(group, []), runs)]


def described_corpus() -> dict[str, object]:
    """In a process of its own, since the vectors may have to be made."""
    command = [sys.executable, str(HERE / "corpora.py")]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    return json.loads(
        subprocess.run(command, cwd=BUILD, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def markdown(result: dict[str, object], own: Package) -> str:
    """What stands between the marks of a scale."""
    shown = {group: runs[0] for group, runs in own.runs.items()}
    parts = [
        f"Commit {own.commit}{' with changes' if result['modified'] else ''}, {result['measured']}.",
        sentence(result["machine"]),
        sentence(result["corpus"]),
        figures_table(shown),
        "Growth (exponent of the straight line through the logarithms; 1: proportional to the size):",
        growth_table(row for rows in shown.values() for row in rows),
    ]
    if own.failed:
        parts.insert(1, f"**Failed: {', '.join(own.failed)}.**")
    return "\n\n".join(parts)


def sentence(values: object) -> str:
    """Names and values; those of a group one after the other."""
    assert isinstance(values, dict)
    shown = {name: " / ".join(map(str, v.values())) if isinstance(v, dict) else v for name, v in values.items()}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items()) + "."


def write(result: dict[str, object], own: Package, other: Package | None, *, to_readme: bool) -> None:
    scale = str(result["scale"])
    suffix = ("" if scale == "quick" else f"-{scale}") + ("-against" if other else "")
    name = f"{own.commit}{'-modified' if result['modified'] else ''}{suffix}.json"
    folder = HERE / "results" if to_readme else BUILD / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    parts = {scale: markdown(result, own)} if set(own.runs) == set(GROUPS) or not other else {}
    if other:
        intro = f"Commit {own.commit} over {other.commit.split()[0]}, {scale}, {result['measured']}."
        parts["against"] = f"{intro}\n\n{changes_table(all_changes(own, other))}"
    for mark, text in parts.items():
        print(text, end="\n\n")
        if to_readme:
            before = README.read_text(encoding="utf-8")
            after = replaced_between(before, f"<!-- {mark} -->", f"<!-- /{mark} -->", text)
            README.write_text(after, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=SCALES, default="quick")
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--work", type=Path, help="folder that keeps the prepared knowledge bases for the next run")
    parser.add_argument("--publish", action="store_true", help="write table and results although groups are left out")
    parser.add_argument("--rounds", type=int, help="runs of each group; default: 1, with --against 2")
    options = parser.parse_args()
    if options.against and (options.rounds or 2) < 2:
        parser.error("--against takes two rounds or more: what one commit differs from itself by is the noise")
    work = options.work.absolute() if options.work else BUILD / f"work-{os.getpid()}"
    own = Package(git("rev-parse", "--short", "HEAD"), PROJECT, work / "own", is_lenient=False)
    described = {
        "modified": bool(git("status", "--porcelain", "--", *PACKAGE)),
        "machine": machine(),
        "corpus": {},
    }
    try:
        with checked_out(options.against, work) as other:
            packages = [own, other] if other else [own]
            for package in packages:
                package.check()
            described["corpus"] = described_corpus()
            measure(options.groups, packages, options.scale, options.rounds or len(packages))
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    is_whole = options.scale != "tiny" and set(options.groups) == set(GROUPS)
    write(result_of(own, other, options.scale, described), own, other, to_readme=is_whole or options.publish)
    if own.failed:
        raise SystemExit(f"failed: {', '.join(own.failed)}")


if __name__ == "__main__":
    main()
