"""What each session was given, and whether something may be given again (M1–M5).

A session is one conversation of one executor. The memory holds the calls that gave something; the decision is a value
with its reason and the call it refers to. Nothing here knows of storage: a session is rebuilt by replaying its calls.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from threading import RLock

from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.repeated_text import without_repeats
from kbapp.domain.tokens import content_tokens, tokens_of

# Measured on benchmarks/tasks.jsonl: a follow-up question shares more than this with what its domain already gave.
ASKS_AGAIN_SHARE = 0.6
SAME_WORDS_SHARE = 0.8  # two queries or dimensions that share so many of their tokens ask for the same
STRONG_LEVELS = frozenset({RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT})


class DomainPolicy(StrEnum):
    """What happens when a domain is asked for again (``retrieval.dedup.domain-policy``)."""

    OFF = "off"
    WARN = "warn"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class GivenText:
    """Body text that reached the executor.

    ``document_hash`` is that of the document's content at the time; ``text_hash`` that of the text itself, the same
    in two documents that hold the same text. ``part`` names a chunk or section; ``""`` is the compact summary of the
    whole document.
    """

    document: str
    domain: str
    level: RelevanceLevel
    document_hash: str
    text_hash: str
    part: str
    text: str


class CallOutcome(StrEnum):
    """What became of a call, as far as the memory cares."""

    GIVEN = "given"
    WITHHELD = "withheld"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call of this session, as far as later ones need it; ``domains`` also has those that were only mentioned."""

    invocation_id: str
    created_at: str
    query: str
    missing_dimension: str | None
    domains: tuple[str, ...]
    given: tuple[GivenText, ...]
    outcome: CallOutcome = CallOutcome.GIVEN


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """The calls of one session, oldest first; a value: ``with_call`` gives the next one."""

    calls: tuple[EarlierCall, ...] = ()

    def with_call(self, call: EarlierCall) -> SessionMemory:
        """The memory after one more call."""
        return SessionMemory((*self.calls, call))

    @property
    def domains(self) -> tuple[str, ...]:
        """The retrieved domains, in order of first retrieval (M2)."""
        return tuple(dict.fromkeys(domain for call in self.calls for domain in call.domains))

    @property
    def documents(self) -> dict[str, tuple[str, ...]]:
        """Domain → documents whose text was given, both in order of first retrieval."""
        found: dict[str, dict[str, None]] = {domain: {} for domain in self.domains}
        for call in self.calls:
            for text in call.given:
                found.setdefault(text.domain, {})[text.document] = None
        return {domain: tuple(documents) for domain, documents in found.items()}

    @property
    def misses_in_a_row(self) -> int:
        """How many calls missed since the last one that gave something (M7)."""
        count = 0
        for call in reversed(self.calls):
            if call.outcome is CallOutcome.GIVEN:
                break
            count += call.outcome is CallOutcome.MISSED
        return count

    def repeats_of(self, query: str) -> int:
        """How often this very query was withheld before (M5)."""
        wanted = query.casefold()
        return sum(call.outcome is CallOutcome.WITHHELD and call.query.casefold() == wanted for call in self.calls)

    def has_given_document(self, document: str) -> bool:
        """Whether text of the document was given."""
        return any(text.document == document for call in self.calls for text in call.given)

    def texts_before(self, offer: GivenText) -> tuple[str, ...]:
        """All texts that were given, in order; not those of an earlier version of the document, which is new again."""
        return tuple(
            text.text
            for call in self.calls
            for text in call.given
            if text.document != offer.document or text.document_hash == offer.document_hash
        )

    def call_that_gave(self, offer: GivenText) -> EarlierCall | None:
        """The call that gave the offered document, as it still is, or the same text from another one (M3)."""
        for call in self.calls:
            for text in call.given:
                same_document = text.document == offer.document and text.document_hash == offer.document_hash
                if same_document or text.document_hash == offer.document_hash or text.text_hash == offer.text_hash:
                    return call
        return self._call_that_holds(offer)

    def has_given_part(self, offer: GivenText) -> bool:
        """Whether just this chunk or section, or its text, was given."""
        is_given = any(
            text.text_hash == offer.text_hash
            or (text.document, text.document_hash, text.part) == (offer.document, offer.document_hash, offer.part)
            for call in self.calls
            for text in call.given
        )
        return is_given or self._call_that_holds(offer) is not None

    def call_that_covers(self, query: str, domain: str) -> EarlierCall | None:
        """A call that got this domain at HIGHLY_RELEVANT or better and whose words ``query`` asks again (M4)."""
        asked = content_tokens(query)
        for call in reversed(self.calls):
            strong = [text for text in call.given if text.domain == domain and text.level in STRONG_LEVELS]
            if not strong or not asked:
                continue
            held = set(tokens_of(call.query)).union(*(tokens_of(text.text) for text in strong))
            if sum(token in held for token in asked) / len(asked) >= ASKS_AGAIN_SHARE:
                return call
        return None

    def is_new_dimension(self, query: str, dimension: str) -> bool:
        """Whether a missing dimension says something that no earlier query or dimension of the session said (M4)."""
        if not dimension or _share_words(dimension, query):
            return False
        earlier = [text for call in self.calls for text in (call.query, call.missing_dimension) if text]
        return not any(_share_words(dimension, text) for text in earlier)

    def _call_that_holds(self, offer: GivenText) -> EarlierCall | None:
        """The first call that gave some of a text of which nothing is left without repeats."""
        text = offer.text
        if not text or without_repeats(text, self.texts_before(offer)):
            return None
        return next(call for call in self.calls if without_repeats(text, [given.text for given in call.given]) != text)


NO_MEMORY = SessionMemory()


@dataclass(frozen=True, slots=True)
class DedupRequest:
    """What the decision needs of a request; ``section`` and ``dimension`` are empty when not asked for."""

    query: str
    section: str = ""
    dimension: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Give:
    """Give the offer of this index; ``warning``: the earlier call that covers its domain (policy ``warn``)."""

    index: int
    warning: EarlierCall | None = None


@dataclass(frozen=True, slots=True)
class Withhold:
    """Give nothing: the reason, and the call that gave it."""

    reason: DedupReason
    earlier: EarlierCall


Decision = Give | Withhold


def decide(memory: SessionMemory, request: DedupRequest, offers: Sequence[GivenText], policy: DomainPolicy) -> Decision:
    """Which of the offers, best first, may be given.

    The best may; when it was given before, the next one of the same level, unless the query asks again for what the
    domain of the best already gave; a weaker leftover never takes its place (G7, M3, M4). ``offers`` is not empty.
    """
    best = _judge(memory, request, offers[0], policy)
    if not isinstance(best, Withhold):
        return Give(0, best)
    if policy is DomainPolicy.BLOCK and _covering(memory, request, offers[0]):
        return best
    for index, offer in enumerate(offers[1:], 1):
        if offer.level is not offers[0].level:
            break
        verdict = _judge(memory, request, offer, policy)
        if not isinstance(verdict, Withhold):
            return Give(index, verdict)
    return best


def _judge(
    memory: SessionMemory, request: DedupRequest, offer: GivenText, policy: DomainPolicy
) -> Withhold | EarlierCall | None:
    """Withhold an offer, or give it, with the call to warn of."""
    if request.force:
        return None
    earlier = memory.call_that_gave(offer)
    if earlier:
        if _goes_deeper(memory, request) and offer.part and not memory.has_given_part(offer):
            return None
        return Withhold(DedupReason.DOC_RETRIEVED, earlier)
    covering = None if policy is DomainPolicy.OFF else _covering(memory, request, offer)
    if covering is None or policy is DomainPolicy.WARN:
        return covering
    return Withhold(DedupReason.DOMAIN_RETRIEVED, covering)


def _covering(memory: SessionMemory, request: DedupRequest, offer: GivenText) -> EarlierCall | None:
    """The call that already got what the query asks of a highly relevant offer's domain, when it names nothing new."""
    if offer.level is not RelevanceLevel.HIGHLY_RELEVANT or _goes_deeper(memory, request):
        return None
    return memory.call_that_covers(request.query, offer.domain)


def _goes_deeper(memory: SessionMemory, request: DedupRequest) -> bool:
    return bool(request.section) or memory.is_new_dimension(request.query, request.dimension)


def _share_words(first: str, second: str) -> bool:
    one, other = set(content_tokens(first)), set(content_tokens(second))
    if not one or not other:
        return first.casefold().split() == second.casefold().split()
    return len(one & other) / len(one | other) >= SAME_WORDS_SHARE


@dataclass(slots=True)
class _Entry:
    memory: SessionMemory = field(default_factory=SessionMemory)
    used_at: float = 0.0


class RetrievedDocTracker:
    """Sessions and their memories (M1, M5). Thread-safe; without a session id nothing is kept."""

    def __init__(self, *, idle_seconds: float, max_sessions: int, clock: Callable[[], float]) -> None:
        self._idle_seconds = idle_seconds
        self._max_sessions = max_sessions
        self._clock = clock
        self._sessions: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = RLock()

    def memory(self, session: str | None) -> SessionMemory | None:
        """What the session was given; None: nothing is known of it here (it may be rebuilt by its rows)."""
        with self._lock:
            entry = self._live(session)
            return entry.memory if entry else None

    def remember(self, session: str | None, memory: SessionMemory) -> None:
        """Take a rebuilt memory, unless the session has one."""
        with self._lock:
            if session is not None and self._live(session) is None:
                self._keep(session, _Entry(memory))

    def add(self, session: str | None, call: EarlierCall) -> SessionMemory:
        """The session's memory after one more call."""
        with self._lock:
            entry = self._live(session) or _Entry()
            entry.memory = entry.memory.with_call(call)
            if session is not None:
                self._keep(session, entry)
            return entry.memory

    def mark_retrieved(self, session: str | None, domain: str, doc: str, level: RelevanceLevel) -> None:
        """Note a document of a domain as given, without its text."""
        given = GivenText(doc, domain, level, document_hash=doc, text_hash=doc, part="", text="")
        self.add(session, EarlierCall("", "", "", None, (domain,), (given,)))

    def is_doc_retrieved(self, session: str | None, doc: str) -> bool:
        """Whether text of the document was given in this session."""
        return any(doc in documents for documents in self._memory(session).documents.values())

    def is_domain_retrieved(self, session: str | None, domain: str) -> bool:
        """Whether the domain was retrieved in this session."""
        return domain in self._memory(session).domains

    def get_retrieved_domains(self, session: str | None) -> tuple[str, ...]:
        """The session's domains, in order of first retrieval."""
        return self._memory(session).domains

    def clear_session(self, session: str | None) -> None:
        """Forget the session."""
        with self._lock:
            if session is not None:
                self._sessions.pop(session, None)

    def _memory(self, session: str | None) -> SessionMemory:
        return self.memory(session) or SessionMemory()

    def _live(self, session: str | None) -> _Entry | None:
        self._expire()
        return None if session is None else self._sessions.get(session)

    def _keep(self, session: str, entry: _Entry) -> None:
        entry.used_at = self._clock()
        self._sessions[session] = entry
        self._sessions.move_to_end(session)
        while len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    def _expire(self) -> None:
        """The sessions stand in the order of their last use."""
        now = self._clock()
        while self._sessions:
            session, entry = next(iter(self._sessions.items()))
            if now - entry.used_at <= self._idle_seconds:
                return
            del self._sessions[session]
