"""A document's Markdown as HTML that is safe to show: tags of the renderer only, no image, nothing fetched.

``st.markdown`` is not used for it: it loads remote images silently, and reads ``:red[…]``, ``$…$`` and ``:material/…:``
where a file means them as text.
"""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it.token import Token

from kbapp.domain.markdown_blocks import markdown

MAX_CHARACTERS = 30_000  # of a document that are shown; what is shown must be quick, whatever it holds
_LINK_SCHEMES = ("http://", "https://", "mailto:")
_LINE_BREAKS = frozenset({"<br>", "<br/>", "<br />"})


def document_html(body: str) -> str:
    """The first ``MAX_CHARACTERS`` of a body; raw HTML is text, and an image its description and address."""
    parser = markdown()
    tokens = [_safe_block(token) for token in parser.parse(body[:MAX_CHARACTERS])]
    return str(parser.renderer.render(tokens, parser.options, {}))


def _safe_block(token: Token) -> Token:
    if token.type == "html_block":
        return Token("code_block", "code", 0, content=token.content)
    if token.type == "inline":
        token.children = list(_safe_inline(token.children or []))
    return token


def _safe_inline(tokens: list[Token]) -> Iterator[Token]:
    is_shown: list[bool] = []
    for token in tokens:
        match token.type:
            case "html_inline":
                is_break = token.content.lower() in _LINE_BREAKS
                yield Token("hardbreak", "br", 0) if is_break else Token("text", "", 0, content=token.content)
            case "image":
                yield Token("text", "", 0, content=f"🖼 {token.content} ({token.attrGet('src')})")
            case "link_open":
                is_shown.append(str(token.attrGet("href")).lower().startswith(_LINK_SCHEMES))
                yield _link(token) if is_shown[-1] else Token("text", "", 0)
            case "link_close":
                yield token if is_shown.pop() else Token("text", "", 0)
            case _:
                yield token


def _link(token: Token) -> Token:
    """Opens beside the app, and does not tell where it was clicked."""
    token.attrs = {"href": str(token.attrGet("href")), "target": "_blank", "rel": "noopener noreferrer"}
    return token
