"""Embedding models of four kinds behind one port: bundled e5, bundled USE, sentence-transformers, OpenAI-compatible."""

from kbapp.adapters.embedders.opening import EmbeddingOptions, default_model, open_embedder
from kbapp.adapters.embedders.progress import embed_with_progress

__all__ = ["EmbeddingOptions", "default_model", "embed_with_progress", "open_embedder"]
