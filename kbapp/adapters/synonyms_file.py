"""``synonyms.yaml`` in the base folder (K6)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from kbapp.adapters.disk import locate, read_whole
from kbapp.domain.encodings import decode_markdown
from kbapp.domain.errors import UserError
from kbapp.domain.synonyms import NO_SYNONYMS, SYNONYMS_FILE, Synonyms, parse_synonyms

_logger = logging.getLogger(__name__)


class SynonymsFile:
    """Reads the file anew each time. Thread-safe; holds nothing open."""

    def __init__(self, root: Path, check_size: Callable[[str, int], None]) -> None:
        self._root = root
        self._check_size = check_size
        self._last = NO_SYNONYMS

    def read(self) -> Synonyms:
        """What it holds now: nothing without the file, and a problem, warned of once, when it is broken."""
        found = self._read()
        if found.problem and found != self._last:
            _logger.warning("%s: %s", SYNONYMS_FILE, found.problem)
        self._last = found
        return found

    def _read(self) -> Synonyms:
        try:
            data = read_whole(
                locate(self._root, SYNONYMS_FILE), lambda size_bytes: self._check_size(SYNONYMS_FILE, size_bytes)
            )
            return parse_synonyms(decode_markdown(data))
        except (FileNotFoundError, NotADirectoryError):
            return NO_SYNONYMS
        except OSError as error:
            return Synonyms(problem=f"it cannot be read ({error.strerror}), synonyms are left out: make it readable")
        except UserError as error:
            return Synonyms(problem=f"it cannot be read, synonyms are left out: {error}")
