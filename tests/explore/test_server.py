"""Only the page itself, on this machine and with the token, can ask the server for anything."""

from __future__ import annotations

import json
import socket

import pytest

from tests.explore.conftest import Client
from vegasfluid.errors import InvalidInput
from vegasfluid.explore import ExploreServer
from vegasfluid.explore.server import PAGE

JSON = "application/json"


def test_the_page_and_its_files_are_served_and_need_nothing_from_elsewhere(client: Client):
    page = client.send("GET", client.base)
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    for file in PAGE.iterdir():
        served = client.send("GET", client.base + file.name)
        assert served.status == 200
        assert served.body == file.read_bytes()
        assert b"//cdn" not in served.body
        text = served.body.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"http://" not in text
        assert b"https://" not in text


def test_answers_forbid_scripts_of_others_and_frames(client: Client):
    for answer in (client.send("GET", client.base), client.post("start"), client.send("GET", "/")):
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert not any(name.startswith("Access-Control") for name in answer.headers)


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/api/start", "//", "/index.html"])
def test_without_the_token_nothing_is_there(client: Client, path):
    assert client.send("GET", path).status == 404
    assert client.send("POST", path, b"{}", Content_Type=JSON).status == 404


@pytest.mark.parametrize("path", ["../session.py", "..%2fsession.py", "page/../../errors.py", "x"])
def test_only_files_of_the_page_are_served(client: Client, path):
    assert client.send("GET", client.base + path).status == 404


@pytest.mark.parametrize("host", [None, "evil.example", "127.0.0.1", "127.0.0.1:1", "localhost"])
def test_another_host_is_refused_so_that_names_cannot_be_rebound(client: Client, host):
    start = f"{client.base}api/start"
    assert client.send("GET", client.base, Host=host).status == 403
    assert client.send("POST", start, b"{}", Host=host, Content_Type=JSON).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=str,
)
def test_a_page_of_another_origin_is_refused(client: Client, headers):
    start = f"{client.base}api/start"
    answer = client.send("POST", start, b"{}", Content_Type=JSON, **headers)
    assert answer.status == 403
    assert answer.json == {"refused": "another origin"}


def test_the_page_itself_is_answered(client: Client):
    own = f"http://127.0.0.1:{client.server.server_port}"
    start = f"{client.base}api/start"
    headers = {"Origin": own, "Sec_Fetch_Site": "same-origin", "Content_Type": JSON}
    assert client.send("POST", start, b"{}", **headers).status == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_what_forms_of_other_pages_can_send_is_refused(client: Client, kind):
    start = f"{client.base}api/start"
    assert client.send("POST", start, b"{}", Content_Type=kind).status == 415


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_object_is_refused(client: Client, body):
    answer = client.send("POST", f"{client.base}api/start", body, Content_Type=JSON)
    assert answer.status == 400


def test_a_large_body_is_refused_before_it_is_read(client: Client):
    connection = client.connect()
    connection.putrequest("POST", f"{client.base}api/start")
    connection.putheader("Content-Length", str(10**9))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_an_unknown_request_is_refused(client: Client):
    assert client.post("shell").status == 404
    assert client.send("PUT", client.base).status == 501


def test_only_the_loopback_interface_is_listened_on(client: Client):
    address, port = client.server.server_address[:2]
    assert address == "127.0.0.1"
    with socket.socket() as asked:  # another address of this machine, also in 127.0.0.0/8
        asked.settimeout(2)
        assert asked.connect_ex(("127.0.0.2", port)) != 0


def test_a_port_in_use_is_an_error_of_one_line(client: Client):
    port = client.server.server_port
    with pytest.raises(InvalidInput, match=f"--port must be free .*, but is {port}"):
        ExploreServer(client.server.session, port)


def test_tokens_differ_and_are_long(client: Client):
    with ExploreServer(client.server.session) as other:
        assert other.token != client.server.token
        assert len(other.token) >= 32
        assert json.dumps(other.token) == f'"{other.token}"'
