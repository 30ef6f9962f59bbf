"""`explore`: prints an address, answers there only, ends at Ctrl-C; or saves the page."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.cli.commands import SMALL, written
from tests.paths import ROOT
from tests.signals import end_of, start

COMMAND = [sys.executable, "-c", "from vegasfluid.cli import main; main()", "explore"]


@pytest.mark.slow
def test_the_page_is_there_until_ctrl_c(tmp_path):
    written(tmp_path, SMALL)
    environment = {"PYTHONPATH": str(ROOT), "VEGASFLUID_CACHE_DIR": str(tmp_path / "cache")}
    process = start(
        [*COMMAND, str(next(tmp_path.glob("*.toml"))), "--no-browser", "--json"],
        cwd=tmp_path,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        document = json.loads("".join(lines))
        assert document["url"].startswith(f"http://127.0.0.1:{document['port']}/")
        with urllib.request.urlopen(document["url"], timeout=10) as page:
            assert b"<title>vegasfluid explore</title>" in page.read()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{document['port']}/", timeout=10)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = end_of(process)
        assert time.monotonic() - begin < 1
    finally:
        process.kill()
    assert process.returncode == 130
    assert err == "vegasfluid: interrupted.\n"


@pytest.mark.parametrize("text", [SMALL.replace("count = 2", "count = 0"), "x = 1"])
def test_an_invalid_model_is_refused_in_one_line(run, tmp_path, text):
    status, out, err = run("explore", str(written(tmp_path, text)), "--no-browser")
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_a_missing_model_and_a_port_in_use_are_refused_in_one_line(run, small: Path):
    status, _, err = run("explore", "no.toml", "--no-browser")
    assert status == 2
    assert "must be a model file" in err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, out, err = run("explore", str(small), "--no-browser", "--port", str(port))
    assert (status, out) == (2, "")
    assert err.startswith("vegasfluid: explore: --port must be free")
    assert len(err.splitlines()) == 1
    assert run("explore", str(small), "--port", "70000")[0] == 2


def test_a_saved_page_needs_its_ending_and_replaces_no_other_file(run, small: Path, tmp_path):
    status, out, err = run("explore", str(small), "--out", str(tmp_path / "page.png"))
    assert (status, out) == (2, "")
    assert err.startswith("vegasfluid: explore: --out must be named *.html")
    mine = tmp_path / "mine.html"
    mine.write_text("<p>mine</p>")
    status, _, err = run("explore", str(small), "--out", str(mine))
    assert status == 2
    assert "--force" in err
    assert mine.read_text() == "<p>mine</p>"


@pytest.mark.slow
def test_the_page_is_saved_with_runs_and_replaced_by_the_next(run, small: str, tmp_path):
    target = tmp_path / "page.html"
    status, out, _ = run("explore", str(small), "--out", str(target))
    assert (status, out) == (0, f"Written: {target}\n")
    first = target.read_text()
    data = first.split('id="saved-runs">')[1].split("</script>")[0]
    [network] = json.loads(data)["networks"]
    assert network["name"] == Path(small).name
    assert len(network["runs"]) > 100
    assert "recommended" in network["recommend"][-1]
    assert network["why"][0]["parts"][-1]["why"]["lines"]
    status, out, _ = run("explore", str(small), "--out", str(target), "--json")
    assert json.loads(out)["page"] == str(target)
    assert target.read_text() == first
