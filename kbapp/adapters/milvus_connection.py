"""Calls to Milvus: opened on the first one, opened again when the server has gone, failures turned into a sentence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kbapp.adapters.milvus_client import (
    COLLECTION_NOT_LOADED,
    MilvusClient,
    MilvusLimits,
    failure_code,
    failure_reason,
    is_token_refused,
    milvus_failures,
    open_client,
)
from kbapp.adapters.milvus_engine import EngineStatus
from kbapp.domain.errors import IndexUnavailable

_T = TypeVar("_T")


class Engine(Protocol):
    """Knows where the server is: ``LocalEngine`` or ``RemoteEngine``."""

    token: str

    @property
    def store(self) -> str:
        """What tells our collections from those of others on the same server."""

    @property
    def address(self) -> str:
        """Of a server of others; ``""`` for our own folder."""

    def connect(self) -> str:
        """The server's address."""

    def reconnect(self, lost_uri: str) -> str:
        """The address after the server at ``lost_uri`` has gone."""

    def is_lost(self, uri: str) -> bool:
        """Whether the server at ``uri`` has gone."""

    def status(self, problem: str | None = None) -> EngineStatus:
        """Where the vectors are."""

    def fingerprint(self) -> str:
        """Changes whenever what is stored changes; ``""`` where that cannot be seen."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Held while something is written."""

    def close(self) -> None:
        """Give the server up."""


@dataclass(frozen=True, slots=True)
class _Link:
    uri: str
    client: MilvusClient


class MilvusConnection:
    """One client for all threads; ``prepare`` is called with each new one."""

    def __init__(self, engine: Engine, limits: MilvusLimits, prepare: Callable[[MilvusClient], None]) -> None:
        self._engine = engine
        self._limits = limits
        self._prepare = prepare
        self._lock = threading.RLock()
        self._link: _Link | None = None
        self._problem: str | None = None  # of the last call
        self._is_closed = False

    def call(self, operation: Callable[[MilvusClient], _T]) -> _T:
        """Run the operation, a second time when the server had gone in between: it must bear repetition.

        Raises:
            IndexUnavailable: the server cannot be reached, or refuses.
        """
        with self._noticed():
            return self._call(operation)

    def write(self, operation: Callable[[MilvusClient], _T]) -> _T:
        """``call`` while nobody else writes.

        Raises:
            IndexUnavailable: as ``call``, or another process keeps on writing.
        """
        with self._noticed(), self._engine.exclusive():
            return self._call(operation)

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        """For ``known_status``: how the last call ended."""
        try:
            yield
        except IndexUnavailable as error:
            self._problem = str(error)
            raise
        self._problem = None

    def known_status(self) -> EngineStatus | None:
        """Where the vectors were at the last call, asking nobody; None: there was no call yet."""
        if self._link is None and self._problem is None:
            return None
        return self._engine.status(self._problem)

    def _call(self, operation: Callable[[MilvusClient], _T]) -> _T:
        link = self._opened(None)
        failures = milvus_failures()
        try:
            return operation(link.client)
        except failures as error:
            if not self._is_gone(link, error):
                raise self._unavailable(error) from error
        link = self._opened(link)
        try:
            return operation(link.client)
        except failures as error:
            raise self._unavailable(error) from error

    def status(self) -> EngineStatus:
        """Where the vectors are, asked now."""
        try:
            self.call(lambda client: client.get_server_version(timeout=self._limits.search_seconds))
        except IndexUnavailable as error:
            return self._engine.status(str(error))
        return self._engine.status()

    def close(self) -> None:
        """End the connection and give up the engine; may be called twice."""
        with self._lock:
            self._is_closed = True
            self._drop()
            self._engine.close()

    def _is_gone(self, link: _Link, error: Exception) -> bool:
        is_replaced = self._link is not link
        return is_replaced or failure_code(error) == COLLECTION_NOT_LOADED or self._engine.is_lost(link.uri)

    def _opened(self, failed: _Link | None) -> _Link:
        """The link, a new one if there is none or it is the failed one."""
        with self._lock:
            if self._is_closed:
                raise IndexUnavailable("The vector index is closed.")
            if self._link is not None and self._link is not failed:
                return self._link
            self._drop()
            uri = self._engine.reconnect(failed.uri) if failed else self._engine.connect()
            try:
                self._link = self._open(uri)
            except milvus_failures() as error:
                if not self._engine.is_lost(uri):
                    raise self._unavailable(error) from error
                self._link = self._open_again(uri)
            return self._link

    def _open(self, uri: str) -> _Link:
        client = open_client(uri, self._engine.token, self._limits.connect_seconds)
        try:
            self._prepare(client)
        except BaseException:
            client.close()
            raise
        return _Link(uri, client)

    def _open_again(self, lost_uri: str) -> _Link:
        try:
            return self._open(self._engine.reconnect(lost_uri))
        except milvus_failures() as error:
            raise self._unavailable(error) from error

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with suppress(*milvus_failures()):
                link.client.close()

    def _unavailable(self, error: Exception) -> IndexUnavailable:
        status = self._engine.status()
        if is_token_refused(error):
            sentence = f"The Milvus server at {status.uri} refuses the token: set milvus.token to one that it accepts."
            return IndexUnavailable(sentence)
        where = f"at {status.uri}" if status.uri else "in the state folder"
        holder = f" (process {status.owner_pid})" if status.owner_pid else ""
        return IndexUnavailable(f"The vector index {where}{holder} did not answer: {failure_reason(error)}.")
