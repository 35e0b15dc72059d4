"""The one tree of errors.

KbError
├── UserError          the caller can mend it; ``str(error)`` is a sentence fit to show
└── IndexUnavailable   a level (L0, L1, full text) cannot answer now; the result is degraded
    ├── IndexBusy      another process is writing the indexes: try again
    └── RequestRefused it works, but has nothing for this request: no failure that a breaker counts
"""


class KbError(Exception):
    """Anything that kbapp raises on purpose."""


class UserError(KbError):
    """Something the caller can mend; the message names the thing and the way out."""


class IndexUnavailable(KbError):
    """A level cannot answer now; the message says which and why."""


class IndexBusy(IndexUnavailable):
    """Somebody else holds the index lock; the message says which process."""

    def __init__(self, message: str, *, by_this_process: bool = False) -> None:
        super().__init__(message)
        self.by_this_process = by_this_process


class RequestRefused(IndexUnavailable):
    """A source works, but cannot serve this request, or what it holds is not for this model."""
