"""pymilvus, quiet and with time limits.

pymilvus and milvus_lite take 0.7 s to import and log a traceback to stderr for every refused call: they are imported
where they are used, and their loggers are silenced after the import (pymilvus configures its own when it is imported).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

# pymilvus has no types of its own.
MilvusClient = Any

# pymilvus pings every 10 s while idle; a gRPC server takes one in five minutes, else it ends the connection
# ("too_many_pings"), and the C core prints that to stderr.
_GRPC_OPTIONS = {"grpc.keepalive_time_ms": 600_000, "grpc.keepalive_permit_without_calls": 0}

COLLECTION_NOT_FOUND = 100
COLLECTION_NOT_LOADED = 101
_SENTENCE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class MilvusLimits:
    """Time and size limits of the calls to Milvus.

    A call without a time limit hangs for as long as the process that serves the folder is stopped. ``page_rows`` stays
    below the 16,384 rows that a Milvus server returns at most, ``batch_bytes`` far below the 64 MiB that it accepts.
    """

    connect_seconds: float = 3.0
    lock_seconds: float = 10.0
    search_seconds: float = 5.0
    write_seconds: float = 60.0
    batch_rows: int = 500
    batch_bytes: int = 4 * 1024 * 1024
    page_rows: int = 5_000


def open_client(uri: str, token: str, connect_seconds: float) -> MilvusClient:
    """A client with a connection of its own, which ``close()`` ends (shared ones are kept for ever).

    Raises:
        MilvusException: nobody answers at ``uri`` within the time.
    """
    from pymilvus import MilvusClient as Client

    silence_loggers()
    return Client(uri, token=token, timeout=connect_seconds, dedicated=True, grpc_options=_GRPC_OPTIONS)


def silence_loggers() -> None:
    """No traceback on stderr for an error that is translated anyway."""
    for name in ("pymilvus", "pymilvus.milvus_client", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def milvus_failures() -> tuple[type[Exception], ...]:
    """What a call to Milvus raises when the server, the network or the request is at fault."""
    import grpc  # type: ignore[import-untyped]
    from pymilvus.exceptions import MilvusException

    return MilvusException, grpc.RpcError


def failure_code(error: Exception) -> object:
    """Milvus' number for a failure, or gRPC's status."""
    code = getattr(error, "code", None)
    return code() if callable(code) else code


def failure_reason(error: Exception) -> str:
    """What went wrong in one line."""
    details = getattr(error, "details", None)
    text = details() if callable(details) else getattr(error, "message", None)
    lines = str(text or error).strip().splitlines() or [type(error).__name__]
    return lines[0][:_SENTENCE_CHARACTERS].rstrip(".")


def is_token_refused(error: Exception) -> bool:
    """Whether a Milvus server does not accept the token; pymilvus hides that behind a failure to connect."""
    import grpc

    return grpc.StatusCode.UNAUTHENTICATED in (
        failure_code(cause) for cause in (error, error.__cause__) if isinstance(cause, Exception)
    )
