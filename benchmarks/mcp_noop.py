"""A server with one tool that does nothing: what a call costs in the MCP package alone. `stdio`, or a port for HTTP."""

from __future__ import annotations

import sys

from mcp.server import MCPServer

ANSWER = "x" * 600

server = MCPServer("noop")


@server.tool()
def noop(query: str) -> str:
    del query
    return ANSWER


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
