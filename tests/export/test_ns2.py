"""The scenario for ns-2: its content, what it rejects, and the same goodput shares in ns-2."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vegasfluid as vf
from tests.paths import MODELS
from vegasfluid import modelfile
from vegasfluid.errors import InvalidInput
from vegasfluid.export import OperatingPoint, export_model
from vegasfluid.model import Model
from vegasfluid.packet import record_packets

NS = shutil.which("ns")
needs_ns = pytest.mark.skipif(NS is None, reason="ns-2 is not installed (Debian: ns2)")
LINE = re.compile(r"^class (.*) count (\d+) goodput_packets_per_s (\S+)$", re.MULTILINE)
TOLERANCE = 0.15

SHORTER = {
    "weigle_feng_network2": (60, 20),
    "weigle_feng_network2_two_way": (60, 20),
    "weigle_feng_network3": (40, 15),
    "weigle_feng_network4": (40, 15),
    "three_equilibria": (160, 100),
}
"""Duration and warm-up of the models whose own take ns-2 more than some seconds, s."""
SEEDS = {"weigle_feng_network1": 10, "weigle_feng_network2_two_way": 2, "three_equilibria": 4}
"""Runs of ns-2, where one is not enough; of ours there are eight."""
OURS = 8
LEADS = 0.5


def scenario(model: Model, **options) -> str:
    return export_model(model, "ns2", **options).files["scenario.tcl"]


def run_ns2(text: str, folder: Path, *arguments: object) -> dict[str, float]:
    """What all flows of each class got together, packets/s."""
    path = folder / "scenario.tcl"
    path.write_text(text)
    command = [str(NS), str(path), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return {name: int(count) * float(rate) for name, count, rate in LINE.findall(done.stdout)}


def shares(rates: np.ndarray) -> np.ndarray:
    """The part of each class in what all got; (run, class)."""
    return rates / rates.sum(axis=-1, keepdims=True)


def ours(model: Model, seeds: int) -> np.ndarray:
    """What the packet simulator gives to each class, packets/s; (seed, class)."""
    times = np.unique([0.0, model.warmup, model.duration])
    grown = [
        record_packets(model.network, times, s).totals_after(model.warmup) for s in range(seeds)
    ]
    return np.array([np.asarray(item.goodput) * model.network.counts for item in grown])


SMALL = """
duration_s = 100
warmup_s = 20
[bottleneck]
capacity_mbps = 10
delay_ms = 5
buffer_packets = 60
QUEUE
[flows.reno]
count = 3
access_mbps = 100
base_rtt_ms = [30, 40, 55]
start_s = { spread_s = 2 }
RENO
[flows.vegas]
count = 3
base_rtt_ms = 40
start_s = [0.5, 1, 1.5]
law = { name = "vegas", alpha_packets = 6, beta_packets = 8, dialect = "ns2" }
VEGAS
"""
PLAIN = {
    "QUEUE": 'aqm = { name = "red", min_thresh_packets = 10, max_thresh_packets = 50 }',
    "RENO": 'law = { name = "reno" }',
    "VEGAS": "",
}


def small(**parts: str) -> Model:
    """The small model with some other parts."""
    text = SMALL
    for key, value in {**PLAIN, **parts}.items():
        text = text.replace(key, value)
    return modelfile.loads(text)


def red(switches: str) -> dict[str, str]:
    return {"QUEUE": PLAIN["QUEUE"].replace(" }", f", {switches} }}")}


FEATURES = {
    "red": {},
    "gentle, no wait, in bytes": red("gentle = true, wait = false, in_bytes = true"),
    "adaptive, ecn": red("adaptive = true, ecn = true, hard_drop = true"),
    "drop-tail, newreno": {"QUEUE": "", "RENO": 'law = { name = "newreno" }'},
    "sack, delayed ACKs": {
        "RENO": 'law = { name = "reno", recovery = "sack" }\ndelayed_ack_ms = 100'
    },
    "cubic": {"RENO": 'law = { name = "cubic" }'},
    "highspeed, a longer way": {
        "RENO": 'law = { name = "highspeed" }',
        "VEGAS": '[[events]]\nat_s = 20\nlink = "access"\nflows = "vegas"\ndelay_ms = 90\n'
        '[[events]]\nat_s = 30\nlink = "bottleneck"\ndelay_ms = 15',
    },
    "windows, overhead": {
        "RENO": 'law = { name = "reno" }\nmax_window_packets = 12\nsend_overhead_ms = 1',
        "VEGAS": "initial_window_packets = 8\ninitial_ssthresh_packets = 20\nmin_rto_s = 1",
    },
    "on and off": {
        "VEGAS": 'traffic = { name = "on_off", on_ms = 300, off_ms = 300, rate_mbps = 2 }'
    },
    "on and off, exponential": {
        "VEGAS": 'traffic = { name = "on_off", times = "exponential", on_ms = 300, off_ms = 300, '
        "rate_mbps = 2 }"
    },
    "sessions": {"VEGAS": 'traffic = { name = "sessions", mean_gap_s = 0.5, mean_size_mb = 0.3 }'},
    "sessions that queue up": {
        "VEGAS": 'traffic = { name = "sessions", mean_gap_s = 3, mean_size_mb = 0.2, '
        "overlapping = true }"
    },
    "reverse": {"VEGAS": 'direction = "reverse"'},
    "udp, poisson": {
        "RENO": 'law = { name = "udp" }\ntraffic = { name = "cbr", rate_mbps = 1.5 }',
        "VEGAS": 'traffic = { name = "poisson", mean_interval_ms = 15 }',
    },
}


MANY = {"sessions that queue up": 16}
"""Runs of ns-2 where four are not enough: 24 have 0.146 of the rate with a deviation of 0.058."""


def study_except(quick: str, names: Iterable[str]) -> list:
    """Parameters, all but one of them part of the study: each compiles a separate kernel."""
    return [pytest.param(name, marks=() if name == quick else pytest.mark.study) for name in names]


@needs_ns
@pytest.mark.parametrize("feature", study_except("red", FEATURES))
def test_shares_are_the_packet_simulators_feature_by_feature(feature, tmp_path):
    model = small(**FEATURES[feature])
    text = scenario(model)
    seeds = range(1, MANY.get(feature, 4) + 1)
    runs = np.array([list(run_ns2(text, tmp_path, s).values()) for s in seeds])
    expected, found = (shares(rates).mean(axis=0) for rates in (runs, ours(model, OURS)))
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE)


@needs_ns
@pytest.mark.parametrize(
    "name",
    study_except("weigle_feng_network1", sorted(path.stem for path in MODELS.glob("*.toml"))),
)
def test_shares_are_the_packet_simulators(name, tmp_path):
    model = modelfile.load(MODELS / f"{name}.toml")
    duration, warmup = SHORTER.get(name, (model.duration, model.warmup))
    model = replace(model, duration=duration, warmup=warmup)
    text = scenario(model)
    seeds = range(1, SEEDS.get(name, 1) + 1)
    runs = np.array([list(run_ns2(text, tmp_path, seed).values()) for seed in seeds])
    expected, found = shares(runs).mean(axis=0), shares(ours(model, OURS))
    if name == "three_equilibria":
        # The equilibrium that a run reaches depends on the order of the first packets, by chance:
        # its frequency differs between ns-2 and ours. Only runs where Reno leads are compared.
        found = found[found[:, 0] > LEADS]
        expected = shares(runs[shares(runs)[:, 0] > LEADS]).mean(axis=0)
        assert len(found) > 2
    np.testing.assert_allclose(found.mean(axis=0), expected, rtol=TOLERANCE)


def require_unsupported(model: Model, *parts: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        scenario(model, points={"vegas": OperatingPoint(3.0, 20.0, 1e-3)})
    assert "\n" not in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


def test_what_ns2_does_not_have_is_rejected():
    law = 'law = { name = "reno", %s }'
    require_unsupported(
        small(RENO='law = { name = "scalable" }'), "flows.reno: law must be one that ns-2 has"
    )
    require_unsupported(
        small(RENO=law % "byte_counting = true"), "law.byte_counting must be False for ns-2"
    )
    require_unsupported(
        small(RENO=law % "validates = true"), "law.validates must be False for ns-2"
    )
    require_unsupported(
        small(RENO='law = { name = "highspeed", low_window_packets = 50 }'), "low_window"
    )
    require_unsupported(
        small(RENO='law = { name = "cubic", recovery = "reno" }'), "law.recovery must be sack"
    )
    increase = 'law = { name = "cubic", friendly_increase = 0.5 }'
    require_unsupported(small(RENO=increase), "friendly_increase 0.5 is not supported: ns-2")
    require_unsupported(small(QUEUE="jitter_ms = 1"), "links.bottleneck: jitter must be 0 for ns-2")
    quick = f"{PLAIN['RENO']}\ndelayed_ack_ms = 40\nquick_acks = 16"
    require_unsupported(small(RENO=quick), "quick_acks must be 0 for ns-2")
    sessions = 'traffic = { name = "on_off", on_ms = 9, off_ms = 9, rate_mbps = 1, '
    require_unsupported(
        small(VEGAS=sessions + "mean_gap_s = 1, mean_size_mb = 1 }"),
        "flows.vegas: traffic must be bulk, cbr, poisson, on_off without sessions",
    )


def links(*paths: str) -> Model:
    """Four links, and a class for each path."""
    text = "duration_s = 10\n"
    for name in "abcd":
        text += f"[links.{name}]\ncapacity_mbps = 10\nbuffer_packets = 50\n"
    for number, path in enumerate(paths):
        names = ", ".join(f'"{name}"' for name in path)
        text += f"[flows.f{number}]\ncount = 1\nbase_rtt_ms = 20\npath = [{names}]\n"
        text += 'law = { name = "reno" }\n'
    return modelfile.loads(text)


@needs_ns
def test_every_class_takes_its_own_path(tmp_path):
    """A parking lot: the long way gets less than the short ones, and each link is filled."""
    rates = run_ns2(scenario(links("abc", "a", "b", "c", "d")), tmp_path)
    full = 10e6 / 12000
    assert rates["f4"] > 0.9 * full
    for short in ("f1", "f2", "f3"):
        assert rates["f0"] < rates[short]
        assert 0.85 * full < rates["f0"] + rates[short] < full


def test_paths_that_ns2_would_not_find_are_rejected():
    require_unsupported(links("abd", "acd"), "needs links that join different pairs of nodes")
    require_unsupported(links("ab", "ba"), "parallel links or a ring")
    require_unsupported(links("abc", "a", "dc", "d", "bd"), "ns-2 needs links")


def test_other_dialects_are_translated():
    model = small()
    law = vf.Vegas(alpha=18, beta=24, dialect="linux")
    other = replace(model, network=model.network.with_law("vegas", law))
    with pytest.raises(
        InvalidInput, match="points must be given for vegas, whose dialect is linux"
    ):
        scenario(other)
    text = scenario(other, points={"vegas": OperatingPoint(3.0, 20.0, 1e-3)})
    assert "{window_ 100000 windowInit_ 10 minrto_ 0.2 overhead_ 0 ecn_ 1 v_alpha_ 6" in text
    assert "translated from linux (alpha 18, beta 24, gamma 1)" in " ".join(text.split("\n# "))


@needs_ns
@pytest.mark.parametrize(
    "name",
    ['a"; exit 3; "', "[exit 3]", "$argv", "{", "a\\", "x y\tz", "}\n]", "\u202e\U0001f600;"],
)
def test_nothing_in_a_name_is_acted_on(name, tmp_path):
    model = small()
    flows = {name: model.network.flows["reno"], "vegas": model.network.flows["vegas"]}
    network = vf.Network(dict(model.network.links), flows)
    model = Model(network, duration=2, title=f"{name}\\", source=f"{name}\nexit 3")
    rates = run_ns2(scenario(model), tmp_path)
    assert len(rates) == 2
    if name.isascii():
        assert list(rates) == [" ".join(name.split()), "vegas"]


@needs_ns
def test_random_starts_are_others_with_each_seed(tmp_path):
    """ns-2's first numbers are a line in the seed: with seeds in a row some hardly change."""
    flows = vf.Flows(30, vf.Reno(), base_rtt=0.04, start=vf.UniformStart(1.0))
    text = scenario(Model(vf.Network(vf.Link(1000.0, 50), {"reno": flows}), duration=2))
    path = tmp_path / "scenario.tcl"
    path.write_text(text.replace('$ns at $at "begin', 'puts "start $at"\n    $ns at $at "begin'))
    starts = []
    for seed in range(1, 9):
        command = [str(NS), str(path), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        starts.append(list(map(float, re.findall(r"^start (\S+)$", done.stdout, re.MULTILINE))))
    assert np.shape(starts) == (8, 30)
    assert np.std(starts, axis=0).min() > 0.1  # of uniform numbers: 0.29
    assert np.mean(starts) == pytest.approx(0.5, abs=0.08)


def test_as_many_packets_wait_as_the_buffer_holds():
    """ns-2's drop-tail drops the packet that would be the last one of its limit, RED does not."""
    assert " DropTail 61 {} DropTail" in scenario(small(QUEUE=""))
    assert " RED 60 {" in scenario(small())


def test_numbers_of_numpy_are_plain_numbers():
    flows = vf.Flows(1, vf.Reno(), base_rtt=0.04, start=(np.float64(0.25),))
    text = scenario(Model(vf.Network(vf.Link(1000.0, 50), {"reno": flows}), duration=2))
    assert "set start(0) {0.25}" in text


@needs_ns
def test_the_seed_is_in_the_file_or_an_argument(tmp_path):
    model = replace(small(), duration=25)
    first, second = (run_ns2(scenario(model, seed=seed), tmp_path) for seed in (1, 2))
    assert first != second
    assert run_ns2(scenario(model, seed=1), tmp_path, 2) == second
