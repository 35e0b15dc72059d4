"""The executor prompts (M6): rules for whoever calls ``lookup_knowledge``, one Markdown file per language."""

from __future__ import annotations

from importlib.resources import files

from kbapp.domain.errors import UserError

LANGUAGES = ("zh", "en")


def executor_prompt(language: str) -> str:
    """The executor prompt in one of ``LANGUAGES``, as Markdown.

    Raises:
        UserError: There is no prompt in this language.
    """
    if language not in LANGUAGES:
        raise UserError(f"there is no executor prompt in {language!r}: choose {' or '.join(LANGUAGES)}")
    return files(__name__).joinpath(f"executor.{language}.md").read_text(encoding="utf-8")
