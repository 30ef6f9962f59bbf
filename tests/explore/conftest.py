"""A server of the page with a small network, and requests to it."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.browser import BROWSERS, chromium, launched
from tests.cli.commands import SMALL
from tests.paths import ROOT
from vegasfluid.explore import ExploreServer
from vegasfluid.explore.session import Session
from vegasfluid.modelfile import loads

ARTEFACTS = Path(os.environ.get("VEGASFLUID_ARTEFACTS") or ROOT / "build" / "browser")
"""Folder of the pictures of the page."""


class Answer(NamedTuple):
    """Status, headers and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


class Client:
    """Sends requests to a server as a browser does, or with other headers."""

    def __init__(self, server: ExploreServer) -> None:
        self.server, self.base = server, f"/{server.token}/"

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> Answer:
        """One request; headers are named with underscores, None leaves one out."""
        given = {"Host": f"127.0.0.1:{self.server.server_port}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self.connect()
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def post(self, name: str, **request: Any) -> Answer:
        body = json.dumps(request).encode()
        return self.send("POST", f"{self.base}api/{name}", body, Content_Type="application/json")

    def ask(self, name: str, **request: Any) -> Any:
        answer = self.post(name, **request)
        assert answer.status == 200, answer.body
        return answer.json


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    server = ExploreServer(Session(loads(SMALL), "small.toml"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield Client(server)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def document(client: Client) -> Any:
    """The small network as the page receives it."""
    return client.ask("start")["document"]


def missing_browser() -> str | None:
    """What has to be installed; None: nothing."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright (`make test-long` installs it from requirements.lock)"
    if chromium() is None:
        return f"one of {', '.join(BROWSERS)} (on Debian: apt-get install chromium)"
    return None


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; tests are skipped without it, and fail in CI.

    It ends with each module, since Playwright allows one loop in a process.
    """
    if wanted := missing_browser():
        say = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        say(f"the browser test needs {wanted}")
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    with launched() as found:
        yield found
