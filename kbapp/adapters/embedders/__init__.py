"""Embedding models of four kinds behind one port: bundled e5, bundled USE, sentence-transformers, OpenAI-compatible."""

from kbapp.adapters.embedders.opening import EmbeddingOptions, default_model, open_embedder

__all__ = ["EmbeddingOptions", "default_model", "open_embedder"]
