"""``kbapp index --to URI``: what is indexed, copied to a Milvus server."""

from __future__ import annotations

from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexUnavailable
from kbapp.service.server_copy import CopyReport
from kbapp.surfaces.cli_options import Options, print_values
from kbapp.surfaces.plain_text import plain
from kbapp.surfaces.progress import ProgressLine


def copy_to_server(options: Options, uri: str, *, as_json: bool) -> None:
    """Copy, and print what was done."""
    with options.open() as kb, ProgressLine("copying") as progress:
        report = kb.copy_to_server(uri, progress.show)
    print_values(as_json, copy_values(report), lambda: copy_text(report))
    if not report.consistent:
        raise IndexUnavailable(f"{uri} does not hold what was written: somebody else writes there, so try again")


def copy_values(report: CopyReport) -> dict[str, JsonValue]:
    """The JSON of ``kbapp index --to``."""
    return {
        "uri": report.uri,
        "collection": report.collection,
        "chunks": report.chunks,
        "written": report.written,
        "removed": report.removed,
        "embedded": 0,
        "failed": [{"path": problem.path, "error": problem.error} for problem in report.failed],
        "consistent": report.consistent,
        "seconds": round(report.seconds, 3),
    }


def copy_text(report: CopyReport) -> str:
    """What a copy did, for people."""
    lines = [
        f"{report.chunks} chunks in the collection {report.collection} at {report.uri}",
        f"{report.written} written, {report.removed} removed, 0 embedded in {report.seconds:.1f} s;"
        f" consistent: {'yes' if report.consistent else 'no'}",
        *(f"not indexed here: {problem.path}: {problem.error}" for problem in report.failed),
        f"to search there, set milvus.uri to {report.uri}",
    ]
    return plain("\n".join(lines))
