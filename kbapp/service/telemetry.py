"""What every lookup leaves behind: one row, also when the request is refused (T1, T5); old rows go at the start."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import TOOL_NAME, Invocation, Outcome, clear_invocation
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.ports import InvocationLog
from kbapp.domain.query import clean_session_id, clean_text
from kbapp.domain.telemetry import MAX_NOTE_CHARACTERS, Feedback, InvocationFilter, Verdict
from kbapp.service.clock import now
from kbapp.service.lookup import LookupRequest

logger = logging.getLogger("kbapp")

MAX_REFUSED_CHARACTERS = 2000  # of a refused request's texts, which may be of any length

RunLookup = Callable[[LookupRequest], tuple[LookupResult, Invocation]]


class Telemetry:
    """Records lookups and answers questions about them. Thread-safe; close it."""

    def __init__(self, log: InvocationLog, keep_days: int) -> None:
        self.log = log
        self._keep_days = keep_days
        self._closing = threading.Event()
        self._pruning: threading.Thread | None = None

    def recorded(self, request: LookupRequest, run: RunLookup) -> tuple[LookupResult, Invocation]:
        """Run a lookup under its cleaned session id and keep its row; a refused one leaves a row of outcome ``error``.

        Raises:
            UserError: the lookup refuses the request.
        """
        request = replace(request, session_id=clean_session_id(request.session_id))
        started = time.perf_counter()
        try:
            result, invocation = run(request)
        except UserError as error:
            self.log.record(_refused(request, error, (time.perf_counter() - started) * 1000))
            raise
        self.log.record(invocation)
        return result, invocation

    def record_clear(self, session_id: str) -> None:
        """Keep that a session was cleared (M5)."""
        self.log.record(clear_invocation(secrets.token_hex(8), session_id, now()))

    def rows(self, wanted: InvocationFilter) -> list[Invocation]:
        """The rows that pass the filter, newest first; its session id is cleaned as those of lookups are."""
        return self.log.rows(replace(wanted, session_id=clean_session_id(wanted.session_id)))

    def feedback(self, invocation_id: str, verdict: Verdict | str, note: str) -> Feedback:
        """Mark an invocation.

        Raises:
            UserError: the invocation or the verdict is unknown, or the note is too long.
        """
        if verdict not in set(Verdict):
            raise UserError(f"{verdict!r} is no verdict: say one of {', '.join(Verdict)}")
        note = clean_text(note)
        if len(note) > MAX_NOTE_CHARACTERS:
            raise UserError(f"the note has {len(note)} characters, at most {MAX_NOTE_CHARACTERS} are kept: shorten it")
        return self.log.add_feedback(invocation_id, Verdict(verdict), note)

    def prune_in_background(self) -> None:
        """Delete what is older than ``telemetry.keep-days``; returns at once, and what goes wrong is only logged."""
        self._pruning = threading.Thread(target=self._prune, name="kbapp-prune", daemon=True)
        self._pruning.start()

    def close(self) -> None:
        """Stop pruning; the next start goes on with it."""
        self._closing.set()
        if self._pruning:
            self._pruning.join()

    def _prune(self) -> None:
        try:
            pruned = self.log.prune(self._keep_days, self._closing.is_set)
        except IndexUnavailable as error:
            logger.warning("old telemetry is not deleted: %s", error)
            return
        if pruned:
            logger.info("%d rows of telemetry older than %d days deleted", pruned, self._keep_days)


def _refused(request: LookupRequest, error: UserError, milliseconds: float) -> Invocation:
    return Invocation(
        id=secrets.token_hex(8),
        session_id=request.session_id,
        tool_name=TOOL_NAME,
        query=_short(request.query),
        section_title=_short(request.section_title or "") or None,
        missing_dimension=_short(request.missing_dimension or "") or None,
        created_at=now(),
        duration_ms=round(milliseconds, 3),
        outcome=Outcome.ERROR,
        error=_short(str(error)),
    )


def _short(text: str) -> str:
    return clean_text(text)[:MAX_REFUSED_CHARACTERS]
