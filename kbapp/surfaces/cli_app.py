"""The command that opens the app."""

from __future__ import annotations

import click

from kbapp.surfaces.app_launcher import ServerOptions, launch
from kbapp.surfaces.cli_options import Options, pass_options


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1; default 8501, or the next free one.")
@click.option("--no-browser", is_flag=True, help="Open no browser window.")
@pass_options
def app(options: Options, port: int | None, no_browser: bool) -> None:
    """Open the app in the browser."""
    server = ServerOptions(port, opens_browser=not no_browser)
    launch(options.settings(), options.config, server, may_copy_sample=options.root is None)
