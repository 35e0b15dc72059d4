"""Embeds many passages in slices, telling how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kbapp.domain.ports import Embedder, Vectors

SLICE = 16  # small enough for a smooth progress bar, large enough for models that profit from batches


def embed_with_progress(
    embedder: Embedder, passages: Sequence[str], on_progress: Callable[[int, int], None]
) -> Vectors:
    """``(n, dimension)`` unit rows; ``on_progress(done, total)`` is called after each slice."""
    if not passages:
        return embedder.embed_passages(passages)
    slices = []
    for start in range(0, len(passages), SLICE):
        slices.append(embedder.embed_passages(passages[start : start + SLICE]))
        on_progress(min(start + SLICE, len(passages)), len(passages))
    return np.concatenate(slices)
