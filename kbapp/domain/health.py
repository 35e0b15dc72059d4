"""What ``kbapp doctor`` reports, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.circuit_breaker import SourceState
from kbapp.domain.documents import JsonValue
from kbapp.domain.level_cuts import LevelCuts


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and the way out; ``is_difference``: the stores do not agree, or nobody can tell."""

    problem: str
    way_out: str
    is_difference: bool = False


class PortState(StrEnum):
    """Who listens on a port of this machine."""

    FREE = "free"
    APP = "app"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class AppPort:
    """The port on which ``kbapp app`` opens its page."""

    port: int
    state: PortState


@dataclass(frozen=True, slots=True)
class Engine:
    """Who runs the vectors: owner, attached, remote or unavailable."""

    role: str
    uri: str | None
    owner_pid: int | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Health:
    """The whole picture; ``consistent`` is about the indexes alone."""

    versions: dict[str, str]
    model: str
    engine: Engine
    folders: dict[str, str]
    app_port: AppPort
    counts: dict[str, int]
    consistent: bool
    problems: tuple[Problem, ...]
    level_cuts: LevelCuts | None = None
    """Where levels begin in this knowledge base; None: where the profile says."""
    has_own_profile: bool = False
    """Whether the profile is the one in the settings, made by ``kbapp calibrate``."""
    sources: tuple[SourceState, ...] = ()
    """What a lookup asks: of this process, and of others where a breaker is not closed."""

    def to_dict(self) -> dict[str, JsonValue]:
        """The form of ``kbapp doctor --json``."""
        return {
            "versions": dict(self.versions),
            "model": self.model,
            "engine": {
                "role": self.engine.role,
                "uri": self.engine.uri,
                "owner_pid": self.engine.owner_pid,
                "problem": self.engine.problem,
            },
            "folders": dict(self.folders),
            "app_port": {"port": self.app_port.port, "state": self.app_port.state.value},
            "counts": dict(self.counts),
            "levels": self._levels(),
            "sources": [
                {
                    "source": source.name,
                    "state": source.kind.value,
                    "forced": source.is_forced,
                    "reason": source.reason or None,
                    "pid": source.pid,
                }
                for source in self.sources
            ],
            "consistent": self.consistent,
            "problems": [{"problem": item.problem, "way_out": item.way_out} for item in self.problems],
        }

    def _levels(self) -> JsonValue:
        cuts = self.level_cuts
        if cuts is None:
            return {"own_profile": True} if self.has_own_profile else None
        return {
            "reference_logit": cuts.reference,
            "highly_relevant_logit": cuts.highly_relevant,
            "probes": cuts.probes,
            "calibrated_at": cuts.calibrated_at,
        }
