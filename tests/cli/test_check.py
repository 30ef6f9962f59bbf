"""`check`: what it prints for people and as JSON."""

from __future__ import annotations

import pytest

from tests.cli.commands import SMALL, document, written
from tests.paths import MODELS


def test_check_json(run):
    path = str(MODELS / "weigle_feng_network2.toml")
    status, out, err = run("check", path, "--json")
    result = document(out)
    assert (status, err) == (0, "")
    assert result["model"] == path
    assert result["ok"] is True
    assert result["flows"] == {"reno": 25, "vegas": 25}
    assert result["warnings"] == []
    # By hand: 3 ms on the link there and back, 4 ms of access, and sending 1540 bytes once at
    # 155 and twice at 100 Mbit/s.
    base_rtt = 0.007 + 1540 * 8 / 155e6 + 2 * 1540 * 8 / 100e6
    assert result["base_rtt_s"] == pytest.approx({"reno": base_rtt, "vegas": base_rtt})
    assert result["bandwidth_delay_packets"] == pytest.approx(155e6 / 12000 * base_rtt)


def test_check_json_of_an_invalid_model_reports_all_errors(run, tmp_path):
    path = written(tmp_path, SMALL.replace("count = 2", "count = 0"))
    status, out, err = run("check", path, "--json")
    result = document(out)
    assert (status, err) == (2, "")
    assert result["ok"] is False
    assert len(result["errors"]) == 2
    assert [name in text for name, text in zip(["reno", "vegas"], result["errors"], strict=True)]
    assert all("count: must be at least 1, but is 0" in text for text in result["errors"])


def test_a_terminal_shows_all_errors_of_a_file_with_their_lines(run, tmp_path, monkeypatch):
    path = written(tmp_path, SMALL.replace("count = 2", "count = 0"))
    status, out, err = run("check", path)
    assert err.count("\n") == 1
    assert err.endswith("(and 1 more error)\n")
    monkeypatch.setattr("vegasfluid.cli.exit_status.on_terminal", lambda: True)
    status, out, err = run("check", path)
    text = SMALL.splitlines()
    numbers = [i for i, line in enumerate(text, 1) if line == "count = 2"]
    assert (status, out, len(numbers)) == (2, "", 2)
    assert err.splitlines() == [
        f"vegasfluid: {path}: line {number}: flows.{name}.count: must be at least 1, but is 0"
        for number, name in zip(numbers, ("reno", "vegas"), strict=True)
    ]


def test_check_shows_the_content_of_the_file(run, small):
    lines = [line.split() for line in run("check", small)[1].splitlines()]
    assert ["reno", "2", "21.23", "reno", "bulk"] in lines  # 20 ms and 1540 bytes at 10 Mbit/s
    assert ["bottleneck", "min_thresh", "20", "packets"] in lines
    assert ["vegas", "alpha", "2", "packets"] in lines


def test_parameters_at_their_defaults_are_listed_on_request(run, tmp_path):
    """max_drop = 0.1 is the default of a `red` queue, and `gentle` is off."""
    path = written(tmp_path, SMALL.replace("max_drop = 0.1", "max_drop = 0.1, hard_drop = true"))
    short, full = (
        [line.split() for line in run("check", path, *more)[1].splitlines()]
        for more in ((), ("--all",))
    )
    for line in (["max_drop", "0.1"], ["gentle", "false"]):
        assert line not in short
        assert line in full
    assert ["hard_drop", "true"] in short
    hint = ["Parameters", "at", "their", "defaults", "are", "left", "out;", "--all", "lists"]
    assert [*hint, "them."] in short
    assert [*hint, "them."] not in full


LINUX = SMALL.replace('dialect = "ns2"', 'dialect = "linux"')


def test_check_shows_what_each_host_stands_for(run, tmp_path):
    """Linux 6.1: TCP_INIT_CWND 10, TCP_ATO_MIN 40 ms, TCP_MAX_QUICKACKS 16; 52 bytes: timestamps.

    The Reno flows have them because of the dialect of the Vegas flows.
    """
    text = LINUX.replace("[flows.vegas]", '[flows.vegas]\nhost = "freebsd"')
    lines = [line.split() for line in run("check", written(tmp_path, text))[1].splitlines()]
    linux = ["10", "40", "ms", "after", "16", "52", "0.2", "rack"]
    assert ["reno", "linux", *linux] in lines
    explained = "\nafter N: the first N packets are acknowledged at once"
    assert explained in run("check", written(tmp_path, text))[1]
    assert explained not in run("check", written(tmp_path, SMALL))[1]
    assert ["vegas", "freebsd", "10", "40", "ms", "52", "0.2", "rack"] in lines  # its dialect's
    assert ["reno", "recovery", "rack"] in lines
    assert ["byte_counting", "true"] in lines


def test_check_json_has_the_hosts(run, tmp_path):
    text = LINUX.replace("[flows.reno]", "[flows.reno]\ninitial_window_packets = 3")
    hosts = document(run("check", written(tmp_path, text), "--json")[1])["hosts"]
    assert list(hosts) == ["reno", "vegas"]
    assert hosts["reno"] == {
        **{"host": "linux", "given": False, "initial_window_packets": 3},
        **{"initial_ssthresh_packets": 2**31 - 1, "min_rto_s": 0.2, "initial_rto_s": 1},
        **{"delayed_ack_s": 0.04, "quick_acks": 16, "ack_bytes": 52},
        **{"recovery": "rack", "counts_acks": False},
    }


def test_an_assumed_host_is_named(run, tmp_path):
    assumed = document(run("check", written(tmp_path, LINUX), "--json")[1])["assumed"]
    assert assumed[0].startswith(
        "The end hosts of reno and vegas are linux hosts, as the Vegas dialect is linux"
    )
    given = LINUX.replace("count = 2", 'count = 2\nhost = "linux"')
    for text in (given, SMALL):  # ns-2 has the hosts of a textbook
        assert not document(run("check", written(tmp_path, text), "--json")[1])["assumed"]
