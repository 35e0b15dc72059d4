"""Any sentence-transformers model: a folder, the hub's local cache, or the hub, tried in that order.

Traps: without network the library retries for more than a minute, so the hub is asked for a sign of life first, before
the slow import of torch; a folder without ``modules.json`` silently becomes mean pooling over whatever is there; fast
tokenizers fail under concurrent calls.
"""

from __future__ import annotations

import http.client
import importlib
import importlib.util
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from kbapp.adapters.embedders.texts import Role, e5_prefix
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.ports import Vectors

PROBE_SECONDS = 3.0
INSTALL = 'pip install "kbapp[sentence-transformers]"'


class SentenceTransformerEncoder:
    """One loaded model. Thread-safe by a lock."""

    def __init__(self, model: Any, name: str) -> None:
        self._model = model
        self._name = name
        self._own_prompts = any(model.prompts.values())
        self._lock = threading.Lock()
        self.dimension = int(self.encode(["dimension"], Role.QUERY).shape[1])

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """``(n, dimension)`` unit rows, with the model's own prompts or the prefixes of its family."""
        encode = self._model.encode_query if role is Role.QUERY else self._model.encode_document
        prompt = None if self._own_prompts else (e5_prefix(self._name, role) or None)
        try:
            with self._lock:
                rows: Vectors = encode(
                    list(texts),
                    prompt=prompt,
                    normalize_embeddings=True,
                    convert_to_numpy=True,
                    show_progress_bar=False,
                )
        except Exception as error:
            raise IndexUnavailable(f"The embedding model {self._name} failed: {_first_line(error)}") from error
        return rows


def require_extra(name: str) -> None:
    """Raise ``UserError`` when sentence-transformers is not installed."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise UserError(
            f"embedding.model is {name}, which needs the extra sentence-transformers: run {INSTALL}. "
            "It brings torch, on Linux a CUDA build of several GB: without a GPU install a CPU build of torch first "
            "(the README says how)."
        )


def load_sentence_transformer(name: str) -> SentenceTransformerEncoder:
    """Load a model by its folder or hub id.

    Raises:
        IndexUnavailable: it is not there, not complete, no sentence-transformers model, or the hub cannot be reached.
    """
    if Path(name).is_dir():
        return SentenceTransformerEncoder(_load_folder(Path(name)), name)
    hub = _import("huggingface_hub")
    repository = name if "/" in name else f"sentence-transformers/{name}"
    folder = _cached_folder(hub, repository)
    if folder is not None:
        try:
            return SentenceTransformerEncoder(_load_folder(folder), name)
        except IndexUnavailable:  # an interrupted download: the hub may complete it
            if hub.constants.HF_HUB_OFFLINE or not answers(hub.constants.ENDPOINT, PROBE_SECONDS):
                raise
    _require_hub(hub, name)
    return SentenceTransformerEncoder(_download(hub, repository), name)


def answers(url: str, seconds: float) -> bool:
    """Whether a web server answers at ``url`` within ``seconds``, name resolution and proxies included."""
    answered = threading.Event()

    def ask() -> None:
        try:
            request = urllib.request.Request(url, method="HEAD")  # noqa: S310 - the hub's own setting
            urllib.request.urlopen(request, timeout=seconds).close()  # noqa: S310 # nosec B310 # the same address
        except urllib.error.HTTPError as error:
            error.close()
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ssl.SSLError):
                return
        except (OSError, ValueError, http.client.HTTPException):
            return
        answered.set()

    # Name resolution knows no time-out: a daemon thread may outlive the wait, but never the process.
    probe = threading.Thread(target=ask, name="hub-probe", daemon=True)
    probe.start()
    probe.join(seconds)
    return answered.is_set()


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise IndexUnavailable(f"{module} cannot be imported ({_first_line(error)}): run {INSTALL} again.") from error


def _cached_folder(hub: ModuleType, repository: str) -> Path | None:
    """The snapshot of a model in the hub's local cache, complete or not."""
    try:
        found = hub.try_to_load_from_cache(repository, "modules.json")
    except ValueError as error:  # not a possible id
        raise IndexUnavailable(f"embedding.model {repository} is neither a folder nor a model id.") from error
    return Path(found).parent if isinstance(found, str) else None


def _require_hub(hub: ModuleType, name: str) -> None:
    way_out = "set embedding.model to a folder that holds it, or to a bundled model"
    if hub.constants.HF_HUB_OFFLINE:
        raise IndexUnavailable(f"{name} is not on this machine and HF_HUB_OFFLINE is set: unset it once, or {way_out}.")
    endpoint = hub.constants.ENDPOINT
    if not answers(endpoint, PROBE_SECONDS):
        raise IndexUnavailable(
            f"{name} is not on this machine and {endpoint} cannot be reached to download it: "
            f"connect to the network once, or {way_out}."
        )


def _download(hub: ModuleType, repository: str) -> Any:
    library = _import("sentence_transformers")
    try:
        model = library.SentenceTransformer(repository)
    except Exception as error:
        raise IndexUnavailable(f"{repository} cannot be downloaded: {_first_line(error)}") from error
    if _cached_folder(hub, repository) is None:
        raise IndexUnavailable(f"{repository} has no modules.json: it is not a sentence-transformers model.")
    return model


def _load_folder(folder: Path) -> Any:
    if not (folder / "modules.json").is_file():
        raise IndexUnavailable(
            f"{folder} holds no modules.json: it is not the folder of a sentence-transformers model."
        )
    library = _import("sentence_transformers")
    try:
        return library.SentenceTransformer(str(folder))
    except Exception as error:
        raise IndexUnavailable(f"The model in {folder} cannot be loaded: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n", 1)[0]
