"""The one embedder that the rest of the app sees: loads a model at its first use and lets no bad vector through."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from kbapp.adapters.embedders.texts import MAX_CHARACTERS, Role, clean_text
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Vectors

UNIT_LENGTH_TOLERANCE = 1e-3


class Encoder(Protocol):
    """A loaded model. Called from several threads at once, with at least one text, each cleaned.

    Raises:
        IndexUnavailable: the model failed; one that returns bad rows instead is caught by ``checked``.
    """

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """``(n, dimension)`` unit rows."""


class CheckedEmbedder:
    """An ``Embedder`` whose model is loaded by ``load`` at its first use; a failed load is tried again. Thread-safe."""

    def __init__(
        self,
        model_id: str,
        load: Callable[[], Encoder],
        *,
        dimension: int | None = None,
        max_characters: int = MAX_CHARACTERS,
    ) -> None:
        self._model_id = model_id
        self._load = load
        self._dimension = dimension
        self._max_characters = max_characters
        self._encoder: Encoder | None = None
        self._lock = threading.Lock()

    @property
    def model_id(self) -> str:
        """The value of ``embedding.model``."""
        return self._model_id

    @property
    def dimension(self) -> int:
        """The length of a vector; loads the model when it is not known beforehand."""
        return self._loaded().dimension if self._dimension is None else self._dimension

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""
        return self._embed(texts, Role.QUERY)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""
        return self._embed(texts, Role.PASSAGE)

    def _embed(self, texts: Sequence[str], role: Role) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        vectors = self._loaded().encode([clean_text(text, self._max_characters) for text in texts], role)
        return checked(vectors, len(texts), self.dimension, model=self._model_id)

    def _loaded(self) -> Encoder:
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            return self._encoder


def checked(vectors: Vectors, n: int, dimension: int, *, model: str) -> Vectors:
    """``vectors`` as C-contiguous float32, if they are ``(n, dimension)`` finite unit rows.

    Raises:
        IndexUnavailable: they are not.
    """
    if vectors.shape != (n, dimension):
        raise IndexUnavailable(
            f"The embedding model {model} returned vectors of shape {vectors.shape}, expected ({n}, {dimension}): "
            "if the model was replaced, rebuild the index."
        )
    if not np.isfinite(vectors).all():
        raise IndexUnavailable(f"The embedding model {model} returned a vector that holds NaN or infinity.")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not np.all(np.abs(lengths - 1.0) <= UNIT_LENGTH_TOLERANCE):
        raise IndexUnavailable(f"The embedding model {model} returned a vector that is not of unit length.")
    return np.ascontiguousarray(vectors, dtype=np.float32)


def unit_rows(vectors: Vectors) -> Vectors:
    """The rows scaled to unit length, for models that do not do it; a row of zeros, NaN or infinity stays bad."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
