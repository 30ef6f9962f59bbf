"""Experiments that are run again under other readings."""

from __future__ import annotations

from dataclasses import replace

import pytest

import vegasfluid as vf
from paper_repro.experiment import NS2, PACKETS, Evidence, Experiment, Job
from paper_repro.la_walrand_anantharam_1998.networks import LAWS, gateway, persistent, rerouted
from paper_repro.la_walrand_anantharam_1998.other_readings import (
    every_drop,
    long_timeout,
    one_way,
    short_timeout,
)
from paper_repro.other_readings import OtherReading, unchanged, with_readings
from paper_repro.running import run_jobs

NETWORK = vf.Network(vf.Link(100.0, 10), {"a": vf.Flows(1, vf.Reno(), base_rtt=0.1)})


def twice(network: vf.Network) -> vf.Network:
    return replace(network, links={"link": replace(network.link, capacity=200.0)})


def delivered(run) -> float:
    return float(run["delivered"].isel(time=-1).sum())


def measure(results) -> Evidence:
    evidence = Evidence()
    evidence.note_mean(PACKETS, "x.sent", results["one"])
    evidence.note("packets, by half", "x.sent", results["one"][0] / 2)
    evidence.note(PACKETS, "x.other", 1.0)
    evidence.note(NS2, "x.sent", 7.0)
    return evidence


def test_each_reading_is_a_source_of_the_measures_that_it_is_about():
    job = Job(NETWORK, 5.0, keep=delivered, seeds=(1, 2))
    plain = Experiment("x", "X", measure, lambda: {"one": job})
    reading = OtherReading("fast", twice, lambda name: name == "sent", first_seed_only=True)
    found = with_readings(plain, [reading])
    assert [len(item.seeds) for item in found.jobs().values()] == [2, 1]
    results = run_jobs([found], workers=1)["x"]
    evidence = found.measure(results)
    before = plain.measure({"one": results["one"]}).found
    assert {source: evidence.found[source] for source in before} == before
    assert set(evidence.found) - set(before) == {"packets, fast", "packets, fast, by half"}
    assert set(evidence.found["packets, fast"]) == {"x.sent"}
    assert evidence.found["packets, fast"]["x.sent"] > 1.5 * before[PACKETS]["x.sent"]
    assert "x.sent" in evidence.spread[PACKETS]
    assert "packets, fast" not in evidence.spread


@pytest.mark.parametrize("ways", [1, 2])
def test_delays_one_way_are_the_networks_that_other_experiments_run(ways):
    change = one_way if ways == 2 else unchanged
    for usual, other in (
        (rerouted(LAWS["vegas"]), rerouted(LAWS["vegas"], ways=ways)),
        (
            persistent(LAWS["vegas"], gateway(None)),
            persistent(LAWS["vegas"], gateway(None), ways=ways),
        ),
    ):
        assert change(usual) == other


def test_other_timeouts_and_drop_probabilities_are_those_of_other_experiments():
    law = LAWS["vegas"]
    assert short_timeout(rerouted(law)) == rerouted(law, min_rto=0.2)
    assert long_timeout(rerouted(law)) == rerouted(law)
    assert long_timeout(persistent(law, gateway(0.02))) == persistent(
        law, gateway(0.02), min_rto=1.0
    )
    assert every_drop(persistent(law, gateway(0.02))) == persistent(law, gateway(1.0))
