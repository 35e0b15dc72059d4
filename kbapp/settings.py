"""Settings: ``kbapp.yaml`` in the documents' kebab-case, environment ``KBAPP_…``, defaults.

YAML keys become attribute names before pydantic sees them and ``KBAPP_…`` names are checked by our own code, because
pydantic-settings neither combines aliases with environment variables nor notices a misspelt variable.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from kbapp.allowed_values import allowed_values
from kbapp.domain.errors import UserError
from kbapp.domain.plain_yaml import YamlProblem, read_yaml

CONFIG_FILE = "kbapp.yaml"
SECRETS = frozenset({"milvus.token", "embedding.api-key", "llm.api-key"})
ENVIRONMENT_PREFIX = "KBAPP_"

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
LogOdds = Annotated[float, Field(ge=-1e9, le=1e9)]  # sums of a few stay finite


class Group(BaseModel):
    """A level of the settings' tree; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FrontmatterAliasSettings(Group):
    """Keys that stand in for a missing one (F7)."""

    summary: tuple[str, ...] = Field(("description",), description="keys that stand in for a missing `summary`")
    keywords: tuple[str, ...] = Field(("tags",), description="keys that stand in for missing `keywords`")


class KnowledgeSettings(Group):
    """Where the documents are and which are accepted."""

    base_path: Path = Field(Path("knowledge_base"), description="folder of the documents")
    max_file_size: Count = Field(5 * 1024 * 1024, description="largest document, bytes")
    frontmatter_aliases: FrontmatterAliasSettings = FrontmatterAliasSettings()


class MilvusSettings(Group):
    """Where the vectors are."""

    uri: str = Field("", description="`http(s)://…`: a Milvus server; a folder for Milvus Lite; empty: `state-dir`")
    token: SecretStr = Field(SecretStr(""), description="`user:password` or API key of a Milvus server")
    read_replica: bool = Field(True, description="search Milvus Lite's vectors in memory; a server is always asked")


class EmbeddingSettings(Group):
    """Which model makes the vectors."""

    model: str = Field("", description="empty: the bundled default; `bundled:…`, `openai:…`, or a model id")
    base_url: str = Field("", description="OpenAI-compatible endpoint, `http://127.0.0.1:11434/v1`")
    api_key: SecretStr = Field(SecretStr(""), description="key of that endpoint")


class LlmSettings(Group):
    """The language model that may work as an executor."""

    base_url: str = Field("", description="OpenAI-compatible endpoint, `http://127.0.0.1:11434/v1`")
    model: str = Field("", description="a model that the endpoint has")
    api_key: SecretStr = Field(SecretStr(""), description="key of that endpoint")


class ChunkingSettings(Group):
    """How documents are cut into chunks."""

    max_characters: Annotated[int, Field(ge=100, le=20_000)] = Field(500, description="longest chunk, characters")
    overlap_characters: Annotated[int, Field(ge=0, le=5_000)] = Field(
        0, description="end of the previous chunk that is embedded with a chunk, characters"
    )
    repeated_line_share: Share = Field(0.3, description="a line in more documents than this share is not embedded")
    repeated_line_min_documents: Count = Field(20, description="from so many documents on")


class KeywordSettings(Group):
    """L0: when a keyword match counts."""

    min_coverage: Share = Field(0.4, description="a unique match covering less of the query runs L1; 0: off")
    common_keyword_share: Share = Field(0.1, description="a keyword of more entries than this share matches nothing")
    common_keyword_min_entries: Count = Field(50, description="from so many entries on")


class VectorSettings(Group):
    """L1: how many candidates."""

    top_k: Count = Field(3, description="candidates that are graded and logged")
    candidates: Annotated[int, Field(ge=1, le=1000)] = Field(50, description="depth of each leg below them")


class FusionSettings(Group):
    """Fusion of vectors and full text."""

    min_documents: Annotated[int, Field(ge=0)] = Field(50, description="full text is fused in from so many documents")


class QuerySettings(Group):
    """What a query may be."""

    max_characters: Count = Field(2000, description="longest query, characters")


class NormalizationSettings(Group):
    """Similarities into levels; the distance of similarity 0 is for models graded by distance alone."""

    max_l2_distance: Annotated[float, Field(gt=0)] = Field(2.0, description="squared L2 distance of similarity 0")
    highly_relevant_threshold: Share = Field(0.75, description="similarity from which a result is HIGHLY_RELEVANT")
    reference_threshold: Share = Field(0.5, description="similarity from which a result is a REFERENCE")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.reference_threshold > self.highly_relevant_threshold:
            raise ValueError("reference-threshold is above highly-relevant-threshold")
        return self


class ProfileSettings(Group):
    """A relevance profile of this knowledge base's own, as ``kbapp calibrate --apply`` writes it (G5)."""

    model: str = Field("", description="model of an own profile (`kbapp calibrate`); empty: the shipped one")
    bias: LogOdds = Field(0.0, description="log-odds of a candidate without any evidence")
    cosine_weight: LogOdds = Field(0.0, description="log-odds per 1 of the cosine")
    coverage_weight: LogOdds = Field(0.0, description="log-odds per 1 of the share of the query that was found")
    unknown_weight: LogOdds = Field(0.0, description="log-odds per 1 of ln(1 + weight of unknown words)")
    found_weight: LogOdds = Field(0.0, description="log-odds per 1 of ln(1 + words found)")
    runs_weight: LogOdds = Field(0.0, description="log-odds per ln(1 + separate places of the query that were found)")
    agreement_weight: LogOdds = Field(0.0, description="log-odds where vectors and full text agree")
    reference_logit: LogOdds = Field(0.0, description="log-odds at which REFERENCE begins")
    highly_relevant_logit: LogOdds = Field(
        1.0, description="log-odds at which HIGHLY_RELEVANT begins, above the former"
    )
    fusion_weight: Annotated[float, Field(ge=0, le=1e9)] = Field(
        0.0, description="worth of a cosine of 1 in the order of documents; 0: by their spread"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.reference_logit >= self.highly_relevant_logit:
            raise ValueError("reference-logit is not below highly-relevant-logit")
        return self


class DedupSettings(Group):
    """What happens when a session asks again."""

    domain_policy: Literal["off", "warn", "block"] = Field("block", description="a domain asked for again")


class SessionSettings(Group):
    """The memory of what a session was given."""

    idle_minutes: Annotated[float, Field(gt=0)] = Field(15, description="a session without a call is forgotten")
    max_sessions: Count = Field(1024, description="sessions kept in memory at most")


class LimitSettings(Group):
    """How long a lookup may take, and how many run at once."""

    max_in_flight: Annotated[int, Field(ge=1, le=256)] = Field(8, description="lookups at once; the others wait")
    wait_seconds: Annotated[float, Field(ge=0, le=3600)] = Field(
        30, description="a lookup waits so long for its turn, then it is refused, seconds"
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        30, description="embedding and vector search together may take so long, seconds"
    )


class BreakerSettings(Group):
    """When a source of the retrieval (`vectors`, `full-text`) is not asked for a while (X9)."""

    failure_share: Share = Field(0.3, description="a source is paused when more than this share of its calls fail")
    min_calls: Count = Field(5, description="of so many calls at least")
    window_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(120, description="within so many seconds")
    open_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        30, description="then it is probed by one call, seconds"
    )
    probes: Count = Field(2, description="so many probes in a row must succeed")
    forced_open: Literal["", "vectors", "full-text", "all"] = Field(
        "", description="switched off for a demonstration of what happens then"
    )
    warm_minutes: Annotated[float, Field(ge=0, le=1440)] = Field(
        60, description="results are kept for the time when no source answers, minutes; 0: none"
    )


class RetrievalSettings(Group):
    """The lookup."""

    l0: KeywordSettings = KeywordSettings()
    l1: VectorSettings = VectorSettings()
    fusion: FusionSettings = FusionSettings()
    query: QuerySettings = QuerySettings()
    normalization: NormalizationSettings = NormalizationSettings()
    profile: ProfileSettings = ProfileSettings()
    dedup: DedupSettings = DedupSettings()
    limits: LimitSettings = LimitSettings()
    breaker: BreakerSettings = BreakerSettings()
    hint_language: Literal["zh", "en"] = Field("zh", description="language of hints and messages to the executor")


class WatchSettings(Group):
    """How a process that stays follows the files."""

    debounce_seconds: Annotated[float, Field(ge=0, le=60)] = Field(
        0.3, description="quiet after a change before it is indexed, seconds; a burst is put off for 1 s at most"
    )
    reconcile_seconds: Annotated[float, Field(ge=1, le=86_400)] = Field(
        60, description="files are compared with the indexes so often without any event, seconds"
    )


class TelemetrySettings(Group):
    """What is kept of lookups."""

    keep_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        90, description="older rows and their feedback are deleted at the start, days"
    )


class Settings(Group):
    """Everything that can be set; ``docs/settings.md`` lists it.

    ``project_root`` is the folder of ``kbapp.yaml``, else the working directory; relative paths are under it.
    ``config_file`` is where changes are written to, under ``project_root`` unless absolute.
    """

    project_root: Path = Field(default_factory=Path.cwd, exclude=True)
    config_file: Path = Field(Path(CONFIG_FILE), exclude=True)
    state_dir: Path = Field(Path(".kbapp"), description="folder of the database and the vectors")
    knowledge: KnowledgeSettings = KnowledgeSettings()
    milvus: MilvusSettings = MilvusSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    session: SessionSettings = SessionSettings()
    watch: WatchSettings = WatchSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    llm: LlmSettings = LlmSettings()

    @field_validator("project_root")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.absolute()

    @property
    def base_folder(self) -> Path:
        """The knowledge base as an absolute path (K9)."""
        return self.project_root / self.knowledge.base_path

    @property
    def state_folder(self) -> Path:
        """The state folder as an absolute path."""
        return self.project_root / self.state_dir

    @classmethod
    def load(
        cls,
        config: Path | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        overrides: Mapping[str, str] | None = None,
    ) -> Settings:
        """Defaults, then ``kbapp.yaml``, then the environment, then ``overrides`` (by dotted name).

        Without ``config`` a ``kbapp.yaml`` in the working directory is read when there is one.

        Raises:
            UserError: the file is missing or broken, or a name or value is wrong; names the nearest right name.
        """
        file = config or Path(CONFIG_FILE)
        values = _read_yaml(file) if config or file.is_file() else {}
        for name, value in [*_environment_values(environ), *(overrides or {}).items()]:
            _put(values, name, value)
        root = file.absolute().parent if config or file.is_file() else Path.cwd()
        _check_characters(values)
        return _validated(values, root, file)


def setting_names(group: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, str, object]]:
    """Every setting as (dotted kebab-case name, description, default)."""
    for attribute, field in group.model_fields.items():
        name = prefix + attribute.replace("_", "-")
        if isinstance(field.default, BaseModel):
            yield from setting_names(type(field.default), name + ".")
        elif not field.exclude:
            yield name, field.description or "", field.default


def _read_yaml(file: Path) -> dict[str, object]:
    try:
        text = file.read_text(encoding="utf-8")
        read_yaml(text)  # refuses what is too long or too deep, and what its aliases make so
        values = yaml.safe_load(text)
    except FileNotFoundError:
        raise UserError(f"{file} does not exist: name an existing settings file with --config") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError, YamlProblem) as error:
        raise UserError(f"{file} cannot be read as YAML: {_first_line(error)}") from error
    if values is None:
        return {}
    flat: dict[str, object] = {}
    _flatten(values, "", flat, file)
    nested: dict[str, object] = {}
    for name, value in flat.items():
        _check_name(name, f"in {file}")
        _put(nested, name, value)
    return nested


def _flatten(values: object, prefix: str, flat: dict[str, object], file: Path) -> None:
    """Turn nested mappings into dotted names; ``retrieval.l1.top-k: 3`` and nesting mean the same."""
    if not isinstance(values, dict):
        raise UserError(f"{file}: {prefix.rstrip('.') or 'the file'} must be a mapping of settings to values")
    names = {name for name, _, _ in setting_names()}
    for key, value in values.items():
        name = f"{prefix}{key}"
        is_group = any(known.startswith(f"{name}.") for known in names)
        if value is None and is_group:
            continue
        if isinstance(value, dict) and is_group:
            _flatten(value, f"{name}.", flat, file)
        else:
            flat[name] = value


def _environment_values(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for variable in sorted(environ):
        if variable.startswith(ENVIRONMENT_PREFIX):
            name = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", ".").replace("_", "-")
            _check_name(name, f"from the environment variable {variable}", as_variable=True)
            yield name, environ[variable]


def _check_name(name: str, where: str, *, as_variable: bool = False) -> None:
    names = [known for known, _, _ in setting_names()]
    if name in names:
        return
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]
    if as_variable:
        nearest = ENVIRONMENT_PREFIX + nearest.upper().replace(".", "__").replace("-", "_")
    raise UserError(f"unknown setting {name!r} {where}: did you mean {nearest}?")


def _put(values: dict[str, object], name: str, value: object) -> None:
    *groups, last = name.replace("-", "_").split(".")
    for group in groups:
        values = values.setdefault(group, {})  # type: ignore[assignment]  # groups hold dicts only
    values[last] = value


def _check_characters(values: object, prefix: str = "") -> None:
    """No NUL in a value: a path with one reaches the system's calls as a traceback."""
    for key, value in values.items() if isinstance(values, dict) else ():
        name = f"{prefix}{key}".replace("_", "-")
        if isinstance(value, str) and "\0" in value:  # not repeated: it may be a key
            raise UserError(f"the setting {name} holds a NUL character: take it out")
        _check_characters(value, f"{name}.")


def _validated(values: dict[str, object], project_root: Path, file: Path) -> Settings:
    _split_lists(values)
    try:
        return Settings(project_root=project_root, config_file=file.absolute(), **values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part).replace("_", "-") for part in first["loc"])
        shown = "" if name in SECRETS else f" (it is {str(first['input'])[:60]!r})"
        allowed = allowed_values(Settings, first["loc"])
        reason = f"it takes {allowed}" if allowed else first["msg"]
        raise UserError(f"setting {name or 'combination'} is not usable: {reason}{shown}") from None


def _split_lists(values: dict[str, object]) -> None:
    """A list given as one comma-separated string (the only form that an environment variable has) becomes a list."""
    knowledge = values.get("knowledge")
    aliases = knowledge.get("frontmatter_aliases") if isinstance(knowledge, dict) else None
    if isinstance(aliases, dict):
        for key, value in aliases.items():
            if isinstance(value, str):
                aliases[key] = [part.strip() for part in value.split(",") if part.strip()]


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
