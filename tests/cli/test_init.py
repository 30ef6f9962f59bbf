"""`init`: the file that it writes, the answers that it refuses, and where the input ends."""

from __future__ import annotations

import io

import pytest

from tests.cli.commands import assert_invalid_input, document
from vegasfluid import Cubic, DropTail, FqCoDel, Pie, Red, Reno, Vegas, modelfile


@pytest.fixture
def run_init(run, tmp_path, monkeypatch):
    """Run `init` with answers; its exit status, output, errors, and the model of the file."""

    def one(*answers: str, options: tuple[str, ...] = ()):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{each}\n" for each in answers)))
        out = tmp_path / "network.toml"
        status, shown, err = run("init", "--out", str(out), *options)
        return status, shown, err, modelfile.load(out) if out.exists() else None

    return one


def test_empty_lines_take_the_defaults(run_init):
    status, out, err, model = run_init(*6 * [""])
    assert status == 0
    assert err.count("]: ") == 6
    assert "Next: vegasfluid check" in out
    link, flows = model.network.link, model.network.flows
    assert link.capacity == pytest.approx(100e6 / 12_000)
    assert link.buffer == round(100e6 * 0.04 / 12_000)  # the bandwidth-delay product
    assert isinstance(link.aqm, DropTail)
    assert {name: (each.count, each.base_rtt) for name, each in flows.items()} == {
        "cubic": (4, 0.04),
        "vegas": (4, 0.04),
    }
    assert isinstance(flows["cubic"].law, Cubic)
    assert isinstance(flows["vegas"].law, Vegas)
    assert flows["vegas"].law.dialect == "linux"
    assert (model.duration, model.warmup) == (60, 20)


def test_answers_are_in_the_file(run_init):
    model = run_init("10", "300", "100", "RED", "3 reno", "2 ns2")[3]
    network = model.network
    assert isinstance(network.link.aqm, Red)
    assert (network.link.aqm.min_thresh, network.link.aqm.max_thresh) == (20, 60)
    assert network.link.buffer == 100
    assert isinstance(network.flows["reno"].law, Reno)
    assert (network.flows["reno"].count, network.flows["vegas"].count) == (3, 2)
    assert network.flows["vegas"].law.dialect == "ns2"
    assert (model.duration, model.warmup) == (300, 100)


def test_the_queue_of_a_home_router_is_an_answer(run_init):
    model = run_init("10", "20", "100", "fq_codel", "", "")[3]
    assert model.network.link.aqm == FqCoDel()


@pytest.mark.parametrize("buffer", ["1", "2", "3"])
def test_red_in_a_small_buffer_is_valid(run_init, buffer):
    assert run_init("10", "20", buffer, "red", "", "")[0] == 0


def test_what_is_not_valid_is_asked_for_again(run_init):
    wrong = {
        "capacity": ["-5", "ten", "inf", "nan", "1e300"],
        "rtt": ["0", "1e30"],
        "buffer": ["0", "1e30", "-3"],
        "queue": ["cake", 'red" }'],
        "others": ["cubic", "0 cubic", "4 cubik", "4 vegas", "4 udp", '4 "', "99999999999 cubic"],
        "vegas": ["4", "4 macos", "0 linux"],
    }
    valid = ("10", "20", "50", "pie", "1 cubic", "1 linux")
    answers = [
        each for good, bad in zip(valid, wrong.values(), strict=True) for each in (*bad, good)
    ]
    status, _, err, model = run_init(*answers)
    assert status == 0
    assert err.count("must be") == sum(map(len, wrong.values()))
    assert err.count("\n") == sum(map(len, wrong.values()))
    assert isinstance(model.network.link.aqm, Pie)
    assert model.network.flows["cubic"].count == 1


def test_json_and_files_of_others(run_init, run, tmp_path):
    status, out, _, _ = run_init(*6 * [""], options=("--json",))
    result = document(out)
    assert status == 0
    assert result["answers"]["others"] == "4 cubic"
    assert result["written"] == str(tmp_path / "network.toml")
    assert run_init(*6 * [""])[0] == 0  # its own file is replaced
    (tmp_path / "network.toml").write_text("# mine")
    assert_invalid_input(run("init", "--out", str(tmp_path / "network.toml")), "--force")
    assert (tmp_path / "network.toml").read_text() == "# mine"


def test_an_input_that_ends_is_one_line(run, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("10\n"))
    status, out, err = run("init", "--out", str(tmp_path / "a.toml"))
    assert (status, out) == (2, "")
    assert err.endswith(
        "vegasfluid: init: rtt must be given, but is missing at the end of the input.\n"
    )
    assert not (tmp_path / "a.toml").exists()
    assert_invalid_input(
        run("init", "--out", str(tmp_path / "no" / "a.toml")), "in an existing folder"
    )
    assert_invalid_input(
        run("init", "--out", str(tmp_path / "a.txt")), "--out must be named *.toml"
    )
