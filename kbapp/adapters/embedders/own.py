"""An embedder of the caller's own, held to what the port says: unit rows, or ``IndexUnavailable``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kbapp.adapters.embedders.checking import checked
from kbapp.domain.errors import IndexUnavailable, KbError
from kbapp.domain.ports import Embedder, Vectors


class OwnEmbedder:
    """``Embedder``; as thread-safe as the one it holds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def model_id(self) -> str:
        """Stored with the vectors: another id means other vectors."""
        return self._embedder.model_id

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._embedder.dimension

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""
        return self._embedded(self._embedder.embed_queries, texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""
        return self._embedded(self._embedder.embed_passages, texts)

    def _embedded(self, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
        try:
            rows = np.asarray(embed(texts), dtype=np.float32)
            return checked(rows, len(texts), self.dimension, model=self.model_id)
        except KbError:
            raise
        except Exception as error:
            raise IndexUnavailable(
                f"The embedding model {self.model_id} failed ({type(error).__name__}: {error})"
            ) from error
