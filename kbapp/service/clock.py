"""The time as records and telemetry hold it."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(seconds: float) -> str:
    """A moment in seconds since the epoch: UTC, ISO 8601, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def now() -> str:
    """UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
