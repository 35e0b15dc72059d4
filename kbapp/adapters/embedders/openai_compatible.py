"""Embeddings from an OpenAI-compatible server: Ollama, vLLM, TEI, or a hosted one.

Traps: ``data`` may come in any order; rows need not be of unit length; ``json`` reads NaN and Infinity; urllib would
send the key along with a redirect, and a request for this machine through a proxy.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from kbapp.adapters.embedders.checking import unit_rows
from kbapp.adapters.embedders.texts import Role, e5_prefix
from kbapp.adapters.endpoint_address import is_plain_address
from kbapp.domain.errors import IndexUnavailable, RequestRefused, UserError
from kbapp.domain.ports import Vectors

BATCH = 32  # the default limit of Text Embeddings Inference
QUERY_SECONDS = 10.0
REFUSED_TEXTS = frozenset({400, 413, 422})  # the server works, and does not take these texts
PASSAGE_SECONDS = 120.0  # a server on a CPU needs a while for a batch
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, for which model; ``url`` ends in ``/embeddings`` and holds no secret."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    query_seconds: float = QUERY_SECONDS
    passage_seconds: float = PASSAGE_SECONDS


class EndpointEncoder:
    """Asks an endpoint for vectors. Thread-safe: it keeps no connection."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Learn the dimension from one short text.

        Raises:
            IndexUnavailable: the endpoint does not answer as it should.
        """
        self._endpoint = endpoint
        self.dimension = _request(endpoint, ["dimension"], endpoint.passage_seconds).shape[1]

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """``(n, dimension)`` unit rows, in requests of at most 32 texts."""
        endpoint = self._endpoint
        seconds = endpoint.query_seconds if role is Role.QUERY else endpoint.passage_seconds
        prefix = e5_prefix(endpoint.model, role)
        inputs = [prefix + text for text in texts]
        batches = [_request(endpoint, inputs[i : i + BATCH], seconds) for i in range(0, len(inputs), BATCH)]
        if any(batch.shape[1] != self.dimension for batch in batches):
            raise IndexUnavailable(
                f"{endpoint.url} changed the dimension of {endpoint.model}: it was {self.dimension}. Rebuild the index."
            )
        return unit_rows(np.concatenate(batches))


def endpoint_of(model: str, base_url: str | None, key: str | None) -> Endpoint:
    """The endpoint under ``embedding.base-url``.

    Raises:
        UserError: the address or the key cannot be used.
    """
    if not base_url:
        raise UserError(
            f"embedding.model is openai:{model}, but embedding.base-url is not set: "
            "set it to the server's address, such as http://127.0.0.1:11434/v1."
        )
    if not is_plain_address(base_url):
        raise UserError(
            "embedding.base-url is not a plain http or https address such as http://127.0.0.1:11434/v1 "
            "(a key belongs in embedding.api-key)."
        )
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UserError("embedding.api-key holds characters that no key has: copy it again.")
    url = base_url.rstrip("/").removesuffix("/embeddings") + "/embeddings"
    return Endpoint(url, model, key or None)


def _request(endpoint: Endpoint, inputs: list[str], seconds: float) -> Vectors:
    """The rows for ``inputs``, as the server gave them but in the right order: ``(n, dimension)`` float32."""
    body = json.dumps({"model": endpoint.model, "input": inputs, "encoding_format": "float"}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    request = urllib.request.Request(endpoint.url, data=body, headers=headers)  # noqa: S310 - http(s), see endpoint_of
    try:
        with _opener(endpoint.url).open(request, timeout=seconds) as response:
            answer = response.read()
    except urllib.error.HTTPError as error:
        kind = RequestRefused if error.code in REFUSED_TEXTS else IndexUnavailable
        raise kind(_refusal(endpoint, error)) from error
    except TimeoutError as error:
        raise IndexUnavailable(f"{endpoint.url} did not answer within {seconds:g} seconds.") from error
    except http.client.HTTPException as error:
        raise IndexUnavailable(f"{endpoint.url} broke off its answer ({type(error).__name__}).") from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise IndexUnavailable(f"{endpoint.url} cannot be reached ({reason}): is the server running?") from error
    return _rows(endpoint, answer, len(inputs))


class _RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """Turns a redirect into an ``HTTPError``: following it would hand the key to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    if urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}:
        return urllib.request.build_opener(_RefuseRedirects, urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(_RefuseRedirects)


def _refusal(endpoint: Endpoint, error: urllib.error.HTTPError) -> str:
    """One sentence for an HTTP status that is not a success; closes the answer."""
    with error:
        said = _server_message(error, endpoint.key)
    status = f"{endpoint.url} answered HTTP {error.code}"
    if error.code in {401, 403}:
        return f"{status}: it refused the key, check embedding.api-key."
    if error.code == 429:
        return f"{status}: too many requests or no quota left, try again later."
    if 300 <= error.code < 400:
        return f"{status}, a redirect: set embedding.base-url to the final address."
    if error.code >= 500:
        return f"{status}: the server failed{said}; try again later."
    return f"{status}{said}: check embedding.base-url and the model name {endpoint.model}."


def _server_message(error: urllib.error.HTTPError, key: str | None) -> str:
    """What the server said, for a person; without the key, should it be echoed."""
    try:
        text = error.read(10_000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""
    if key:
        text = text.replace(key, "***")
    shown = "".join(c if c.isprintable() else " " for c in text).strip()[:_SHOWN_CHARACTERS]
    return f" ({shown})" if shown else ""


def _rows(endpoint: Endpoint, answer: bytes, n: int) -> Vectors:
    try:
        data = json.loads(answer)["data"]
        order = [int(item.get("index", position)) for position, item in enumerate(data)]
        if sorted(order) != list(range(n)):
            raise IndexUnavailable(
                f"{endpoint.url} returned {len(data)} embeddings for {n} texts, or numbered them wrongly."
            )
        with np.errstate(over="ignore"):
            rows = np.array([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise IndexUnavailable(
            f"{endpoint.url} did not return embeddings in OpenAI's form: check embedding.base-url."
        ) from error
    if rows.ndim != 2 or rows.shape[1] == 0 or not np.isfinite(rows).all() or not rows.any(axis=1).all():
        raise IndexUnavailable(f"{endpoint.url} returned an embedding that is empty, zero, NaN or infinite.")
    return rows[np.argsort(order)]
