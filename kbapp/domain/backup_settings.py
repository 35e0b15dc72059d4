"""The settings that a backup keeps: values as in ``kbapp.yaml``, without secrets, and without places on a restore."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from urllib.parse import urlsplit

PLACES = frozenset({"knowledge.base-path", "state-dir", "milvus.uri"})
"""Where things are is a matter of the machine, not of the knowledge base."""


def without_secrets(values: Mapping[str, object], secrets: Collection[str]) -> tuple[dict[str, object], list[str]]:
    """The settings by dotted name, and the names of those that are left out: secrets, and addresses that carry one."""
    flat = dict(flat_settings(values))
    withheld = [name for name, value in flat.items() if value and (name in secrets or _carries_a_secret(value))]
    return {name: value for name, value in flat.items() if name not in withheld and name not in secrets}, withheld


def without_places(values: Mapping[str, object]) -> dict[str, object]:
    """The settings by dotted name that a restore writes."""
    return {name: value for name, value in flat_settings(values) if name not in PLACES}


def differing(archived: Mapping[str, object], present: Mapping[str, object]) -> tuple[str, ...]:
    """The settings of an archive that have another value here, or none."""
    here = dict(flat_settings(present))
    return tuple(
        sorted(name for name, value in without_places(archived).items() if name not in here or here[name] != value)
    )


def flat_settings(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Nested or dotted settings by dotted name."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", value


def _carries_a_secret(value: object) -> bool:
    """Whether an address has a user, a password or a query, in which keys are handed over."""
    if not isinstance(value, str) or "://" not in value:
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return True
    return "@" in parts.netloc or bool(parts.query)
