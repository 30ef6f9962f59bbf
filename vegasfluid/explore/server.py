"""The web server of the page: on 127.0.0.1 only, for those who know the token in its address.

Another page in the same browser, and a name that an attacker points at this machine (DNS
rebinding), are rejected by the headers Host, Origin and Sec-Fetch-Site.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import select
import socket
import socketserver
import sys
from collections.abc import Generator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vegasfluid.errors import InvalidInput, printable
from vegasfluid.explore.latest import Overtaken
from vegasfluid.explore.session import Session
from vegasfluid.json_values import json_value

__all__ = ["ExploreServer"]

ADDRESS = "127.0.0.1"
"""The only address that the server listens on."""
LARGEST_BODY = 1_000_000
"""Largest body of a request, bytes; a model has about a thousand."""
IDLE = 60.0
"""Time after which a connection without requests is closed, s."""
PAGE = Path(__file__).parent / "page"
"""Folder with the files of the page."""
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
"""Content types of these files by ending."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer: only the page's own files are used, and nobody else can embed them."""


@cache
def page_files() -> dict[str, tuple[str, bytes]]:
    """Content type and content of the files of the page, by name; the page itself has the name ''.

    Requests can only name these, so that no other file can be read.
    """
    files = {file.name: file for file in PAGE.iterdir() if file.suffix in TYPES}
    found = {
        name: (f"{TYPES[file.suffix]}; charset=utf-8", file.read_bytes())
        for name, file in files.items()
    }
    return found | {"": found["index.html"]}


class ExploreServer(ThreadingHTTPServer):
    """Serves the page and answers its requests until the process ends.

    Args:
        session: answers the requests of the page.
        port: port to listen on; 0: any free one.

    Raises:
        InvalidInput: if the port cannot be used.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session, self.token = session, secrets.token_urlsafe(24)
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InvalidInput("explore", "--port", f"free ({reason})", port) from None

    def server_bind(self) -> None:
        """Bind the socket; the base class also asks for this machine's name, which can be slow."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Values of the header Host with which the page can be asked for."""
        return f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error of a request in one line; a lost connection is not reported."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            message = printable(f"{type(error).__name__}: {error}")
            print(f"vegasfluid: explore: {message}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: ExploreServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "vegasfluid", ""
    timeout = IDLE

    def do_GET(self) -> None:
        """Send a file of the page."""
        name = self.name_of_request()
        if name is None:
            return
        if name not in page_files():
            self.refuse(404, "no such page")
            return
        kind, content = page_files()[name]
        self.send_head(200, kind, {"Content-Length": str(len(content))})
        self.wfile.write(content)

    def do_POST(self) -> None:
        """Answer a request of the page: JSON, or a line of JSON for each part of a long one."""
        name = self.name_of_request()
        if name is None:
            return
        answer = self.server.session.answers.get(name.removeprefix("api/"))
        request = self.json_of_request()
        if request is None:
            return
        if answer is None or not name.startswith("api/"):
            self.refuse(404, "no such request")
            return
        try:
            found = answer(request, self.gone)
        except Overtaken:
            found = {"overtaken": True}
        if isinstance(found, Generator):
            self.send_parts(found)
        else:
            self.send_json(200, found)

    def name_of_request(self) -> str | None:
        """Name of the requested file or answer, the path after the token, such as `api/run`.

        The request must name this server as host, come from its own page or from the address bar,
        and its path must begin with the token. Otherwise it is answered with an error; then None.
        """
        if self.headers.get("Host", "") not in self.server.hosts:
            self.refuse(403, "unknown host")
            return None
        origins = {None, *(f"http://{host}" for host in self.server.hosts)}
        site = self.headers.get("Sec-Fetch-Site", "none")
        own = site in ("none", "same-origin") or (
            site == "same-site" and self.headers.get("Origin") in origins - {None}
        )
        if self.headers.get("Origin") not in origins or not own:
            self.refuse(403, "another origin")
            return None
        _, token, *rest = [*urlsplit(self.path).path.split("/", 2), ""][:3]
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self.refuse(404, "the address has no valid token: copy it from the terminal")
            return None
        return rest[0]

    def json_of_request(self) -> dict[str, Any] | None:
        """The JSON object in the body; None if it is invalid and an error was sent as answer.

        The body has at most LARGEST_BODY bytes. Its content type must be that of JSON: browsers do
        not let a page of another origin send it without permission.
        """
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            self.close_connection = True
            self.refuse(413, f"the body must have at most {LARGEST_BODY} bytes")
            return None
        body = self.rfile.read(int(length))
        if self.headers.get_content_type() != "application/json":
            self.refuse(415, "the body must be JSON")
            return None
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            self.refuse(400, "the body must be a JSON object")
            return None
        return request

    def gone(self) -> bool:
        """Whether the browser has closed the connection."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def send_head(self, status: int, kind: str, more: dict[str, str]) -> None:
        """Send status and headers; `kind` is the content type, `more` are further headers."""
        self.send_response(status)
        for name, value in {"Content-Type": kind, **HEADERS, **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def send_json(self, status: int, document: Any) -> None:
        """Send a JSON document with an HTTP status; NaN and infinities become null."""
        content = json.dumps(json_value(document), allow_nan=False).encode()
        self.send_head(status, "application/json", {"Content-Length": str(len(content))})
        self.wfile.write(content)

    def send_parts(self, parts: Generator[Any]) -> None:
        """Send each part of a long answer as a line of JSON as soon as it is computed.

        If the request is overtaken, the last line is `{"overtaken": true}`.
        """
        self.send_head(200, "application/x-ndjson", {"Transfer-Encoding": "chunked"})
        try:
            with contextlib.closing(parts):
                for part in parts:
                    self.send_chunk(json.dumps(json_value(part), allow_nan=False).encode() + b"\n")
        except Overtaken:
            self.send_chunk(b'{"overtaken": true}\n')
        self.send_chunk(b"")

    def send_chunk(self, content: bytes) -> None:
        """Send a chunk of a body (HTTP/1.1); the empty one ends it."""
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()

    def refuse(self, status: int, reason: str) -> None:
        """Send an HTTP error `status` with the `reason` as JSON; then close the connection."""
        self.close_connection = True
        self.send_json(status, {"refused": reason})

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing about requests."""
