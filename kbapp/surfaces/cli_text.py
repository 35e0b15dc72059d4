"""Values as text for a terminal and as the JSON of the commands."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from kbapp.domain.circuit_breaker import BreakerKind, SourceState
from kbapp.domain.documents import DocumentRecord, FileProblem, JsonValue, StoredChunk
from kbapp.domain.explanation import explain
from kbapp.domain.health import Health, PortState
from kbapp.domain.invocation import Invocation
from kbapp.domain.lookup_result import LookupResult
from kbapp.service.documents import UploadResult
from kbapp.service.index_report import ChangeKind, IndexReport
from kbapp.surfaces.plain_text import plain


def index_values(report: IndexReport) -> dict[str, JsonValue]:
    """The JSON of ``kbapp index``."""
    return {
        "documents": report.documents,
        "entries": report.entries,
        "indexed": report.count(ChangeKind.ADDED, ChangeKind.UPDATED),
        "renamed": report.count(ChangeKind.RENAMED),
        "unchanged": report.unchanged,
        "removed": report.count(ChangeKind.REMOVED),
        "failed": [{"path": problem.path, "error": problem.error} for problem in report.failed],
        "warnings": [{"path": problem.path, "warning": problem.error} for problem in report.warnings],
        "chunks": report.chunks,
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
    }


def index_text(report: IndexReport) -> str:
    """What an index run did, for people."""
    values = index_values(report)
    lines = [
        f"{report.documents} documents, {report.entries} in the keyword index, {report.chunks} chunks",
        f"{values['indexed']} indexed, {values['renamed']} renamed, {report.unchanged} unchanged,"
        f" {values['removed']} removed; {report.embedded} chunks embedded in {report.seconds:.1f} s",
        *(
            [f"the embedding model changed: {report.former_model} made the vectors before"]
            if report.former_model
            else []
        ),
        *_problem_lines("warning", report.warnings),
        *_problem_lines("failed", report.failed),
    ]
    return plain("\n".join(lines))


def lookup_text(result: LookupResult, invocation: Invocation | None) -> str:
    """A result for people; with the invocation also why it came out so."""
    lines = [
        f"{result.relevance_level or 'NOT FOUND'}{f'  {result.completeness_hint}' if result.completeness_hint else ''}"
    ]
    if result.message:
        lines.append(result.message)
    if result.degraded:
        lines.append(f"degraded: {result.degraded}")
    if result.primary:
        lines += ["", f"[L0] {result.primary.title}  ({result.primary.source})", _indented(result.primary.content)]
    if result.supplement:
        place = f"{result.supplement.breadcrumb}  ({result.supplement.source})"
        lines += ["", f"[L1] {place}", _indented(result.supplement.content)]
    if invocation:
        lines += ["", *_explanation(invocation)]
    return plain("\n".join(lines))


def documents_text(records: Sequence[DocumentRecord]) -> str:
    """One line per document."""
    if not records:
        return "no documents"
    return plain(
        "\n".join(
            f"{record.status.value:8} {record.chunk_count:4} chunks  {record.path}  {record.title}"
            f"{f'  – {record.error or record.warning}' if record.error or record.warning else ''}"
            for record in records
        )
    )


def upload_text(result: UploadResult) -> str:
    """What became of an upload."""
    record = result.record
    lines = [f"{result.outcome.value}: {record.path}  {record.chunk_count} chunks  {record.title}"]
    if result.warning:
        lines.append(f"warning: {result.warning}")
    if result.identical_to:
        lines.append(f"the same text is there as {result.identical_to}")
    return plain("\n".join(lines))


def chunks_text(chunks: Sequence[StoredChunk]) -> str:
    """The chunks of a document."""
    return plain(
        "\n\n".join(
            f"[{stored.chunk.index + 1}/{stored.chunk.total}] {stored.chunk.breadcrumb}"
            f"  (lines {stored.chunk.lines[0]}–{stored.chunk.lines[1]})\n{_indented(stored.chunk.content)}"
            for stored in chunks
        )
        or "the document has no text"
    )


_PORTS = {
    PortState.FREE: "app: not running; port {port} is free",
    PortState.APP: "app: answers at http://127.0.0.1:{port}",
    PortState.TAKEN: "app: not running; another program holds port {port}: use `kbapp app --port N`",
}


def health_text(health: Health) -> str:
    """The findings of ``kbapp doctor``."""
    engine = health.engine
    lines = [
        f"consistent: {'yes' if health.consistent else 'no'}",
        f"model: {health.model}",
        f"levels: {_levels_text(health)}",
        f"engine: {engine.role}{f' at {engine.uri}' if engine.uri else ''}"
        f"{f', owner process {engine.owner_pid}' if engine.owner_pid else ''}",
        *(_source_text(source) for source in health.sources),
        *(f"{name}: {folder}" for name, folder in health.folders.items()),
        _PORTS[health.app_port.state].format(port=health.app_port.port),
        ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in health.counts.items()),
        ", ".join(f"{name} {number}" for name, number in health.versions.items()),
        *(f"problem: {item.problem} – {item.way_out}" for item in health.problems),
    ]
    return plain("\n".join(line for line in lines if line))


def _source_text(source: SourceState) -> str:
    if source.kind is BreakerKind.CLOSED:
        return f"{source.label}: asked as usual (breaker closed)"
    retry = f", tried again in {source.retry_seconds:.0f} s" if source.retry_seconds else ""
    where = "" if source.pid == os.getpid() else f" in process {source.pid}"
    return f"{source.label}: {source.kind.value.replace('_', ' ')}{where}, {source.reason}{retry}"


def _levels_text(health: Health) -> str:
    cuts = health.level_cuts
    if cuts is None:
        return "by your own profile (retrieval.profile)" if health.has_own_profile else "as the model's profile says"
    return (
        f"REFERENCE from log-odds {cuts.reference:.2f}, HIGHLY_RELEVANT from {cuts.highly_relevant:.2f},"
        f" by {cuts.probes} probe queries on {cuts.calibrated_at[:10]}"
    )


def _former_model_lines(report: IndexReport) -> list[str]:
    return (
        [f"the embedding model changed: {report.former_model} made the vectors before"] if report.former_model else []
    )


def _problem_lines(label: str, problems: Iterable[FileProblem]) -> list[str]:
    return [f"{label}: {problem.path}: {problem.error}" for problem in problems]


def _explanation(invocation: Invocation) -> list[str]:
    searched = f", L1 in {invocation.l1_ms:.1f} ms" if invocation.l1_ms is not None else ""
    decision, *evidence = explain(invocation).sentences
    return [
        f"why: {decision}",
        *(f"  {sentence}" for sentence in evidence),
        f"  {invocation.duration_ms:.1f} ms in all, L0 in {invocation.l0_ms:.2f} ms{searched}",
    ]


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
