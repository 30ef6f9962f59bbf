"""Packet runs, recommendations and exports of the page are those of the library."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import vegasfluid as vf
from tests.cli.commands import SMALL, WITHOUT_VEGAS
from tests.explore.conftest import Client
from vegasfluid import tuning
from vegasfluid.analysis.equilibria.equilibrium import THEORY, Equilibrium
from vegasfluid.analysis.linear_stability.stability import Stability
from vegasfluid.explore import packet_runs, recommendations
from vegasfluid.explore.latest import Overtaken, Tickets, Worker
from vegasfluid.explore.packet_runs import RUNS
from vegasfluid.export import FORMATS, export_model
from vegasfluid.modelfile import loads
from vegasfluid.tuning.measurement import Measurement, measure
from vegasfluid.tuning.settings import Step

MODEL = loads(SMALL)


def test_packet_runs_are_those_of_the_seeds_from_one(client: Client, document):
    *progress, last = client.post("packets", document=document).lines
    found = last["confirmed"]
    seeds = range(1, RUNS + 1)
    expected = measure(MODEL.network, "vegas", seeds, until=MODEL.duration, warmup=MODEL.warmup)
    assert found["ratio"] == expected.ratio
    assert found["interval"] == list(expected.interval)
    assert found["queueing_delay_s"] == expected.means()["queueing_delay_s"]
    assert [part["progress"] for part in progress] == [
        f"Packet simulator: {done} of {RUNS} runs …" for done in range(0, RUNS, 2)
    ]


def test_runs_that_are_all_equal_have_no_interval(client: Client, document, monkeypatch):
    run = {"ratio": 0.5, "queueing_delay_s": 0.01}
    monkeypatch.setattr(
        packet_runs, "measure", lambda *_, **__: Measurement((run, run), (np.ones(4),) * 2)
    )
    found = client.post("packets", document=document).lines[-1]["confirmed"]
    assert found["ratio"] == pytest.approx(0.5)
    assert found["interval"] is None
    assert "identical" in found["note"]


@pytest.mark.parametrize("job", ["packets", "recommend"])
def test_one_class_is_refused_in_one_line(client: Client, job):
    document = client.ask("read", text=WITHOUT_VEGAS)["document"]
    [error] = client.post(job, document=document).lines[-1]["errors"]
    assert error["message"]
    assert "\n" not in error["message"]


def test_an_export_has_the_files_of_the_library(client: Client, document):
    assert client.ask("start")["formats"] == list(FORMATS)
    found = client.ask("export", document=document, format="ns2")
    expected = export_model(MODEL, "ns2")
    assert found == {"files": dict(expected.files), "notes": list(expected.notes)}
    translated = client.ask("export", document=document, format="linux")
    assert "translated from ns2" in "".join(translated["files"].values())
    [error] = client.ask("export", document=document, format="os2")["errors"]
    assert "linux" in error["message"]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_stability_is_that_of_the_analysis(client: Client, document):
    found = client.ask("stability", document=document)["stability"]
    equilibrium = vf.equilibrium(MODEL.network)
    verdict = vf.stability(equilibrium)
    assert found["stable"] == verdict.stable
    assert found["text"].startswith(f"stable: rightmost root {verdict.rightmost_root.real:.3g}")
    assert found["queue_packets"]["bottleneck"] == pytest.approx(equilibrium.values.queue[0])
    vegas, reno = (equilibrium.mean(name, "goodput") for name in ("vegas", "reno"))
    assert found["ratio"] == pytest.approx(vegas / reno, rel=1e-12)


def found_equilibrium(goodputs: dict[str, float]) -> Equilibrium:
    """As if it had been solved for: 7.5 packets wait, and goodputs are given, packets/s."""

    class Found(Equilibrium):
        def mean(self, name: str, quantity: str) -> float:
            return {"goodput": goodputs}[quantity][name]

    values: Any = SimpleNamespace(queue=np.array([7.5]))
    return Found(MODEL.network, THEORY, values, cast(Any, None))


@pytest.mark.parametrize(("reno", "ratio"), [(4.0, 0.75), (0.0, None)])
def test_an_equilibrium_is_told_with_its_ratio_and_queue(
    client: Client, document, monkeypatch, reno, ratio
):
    """The ratio is infinite, null in JSON, if the flows of Reno have no goodput."""
    verdict = Stability(False, (2 + 3j,), 0.5, None, 2 * math.pi)
    found = found_equilibrium({"vegas": 3.0, "reno": reno})
    monkeypatch.setattr(vf.analysis, "equilibrium", lambda network: found)
    monkeypatch.setattr(vf.analysis, "stability", lambda found: verdict)
    assert client.ask("stability", document=document) == {
        "stability": {
            "ratio": ratio,
            "queue_packets": {"bottleneck": 7.5},
            "stable": False,
            "text": "unstable: rightmost root 2 +3i /s, gain margin 0.5, "
            "period at the stability boundary 1 s.",
        }
    }


def test_a_network_without_an_equilibrium_is_refused_in_one_line(
    client: Client, document, monkeypatch
):
    def refuse(network: vf.Network) -> None:
        raise vf.Unsupported("equilibrium", "this network", "windows grow until the end")

    monkeypatch.setattr(vf.analysis, "equilibrium", refuse)
    [error] = client.ask("stability", document=document)["errors"]
    text = "equilibrium: this network is not supported: windows grow until the end."
    assert error == {"path": "", "message": text}


def search(steps: list[str], result: Any, ended: list[str]) -> Any:
    """A stand-in for `recommend` that reports some lines, and notes if it is ended."""

    def recommend(*_: Any, report: Any, **__: Any) -> Any:
        try:
            for step in steps:
                report(step)
            for _ in range(2000):
                if isinstance(result, threading.Event) and not result.wait(0.01):
                    report("still searching")
            return result
        except Overtaken:
            ended.append("ended")
            raise

    return recommend


def test_steps_of_a_search_have_their_numbers(client: Client, document, monkeypatch):
    steps = [Step("fluid", 3.0, 5.0, 0.5), "fluid: trust region", Step("packets", 4, 6, 1.0, "2")]
    monkeypatch.setattr(recommendations, "recommend", search(steps, "found", []))
    monkeypatch.setattr(recommendations, "recommended", lambda found: {"recommended": found})
    _, *parts = client.post("recommend", document=document, tab="steps").lines
    assert parts == [
        {
            "progress": "fluid: alpha 3, beta 5, ratio 0.5",
            "step": {"engine": "fluid", "alpha": 3.0, "beta": 5.0, "ratio": 0.5},
        },
        {"progress": "fluid: trust region"},
        {
            "progress": "packets: alpha 4, beta 6, ratio 1 (2)",
            "step": {"engine": "packets", "alpha": 4.0, "beta": 6.0, "ratio": 1.0},
        },
        {"recommended": "found"},
    ]


def test_a_search_ends_when_its_page_is_gone(client: Client, document, monkeypatch):
    ended: list[str] = []
    monkeypatch.setattr(recommendations, "recommend", search(["one"], threading.Event(), ended))
    connection = client.connect()
    body = json.dumps({"document": document, "tab": "leaving"})
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"{client.base}api/recommend", body, headers)
    answer = connection.getresponse()
    assert [json.loads(answer.readline())["progress"] for _ in range(2)][1] == "one"
    answer.close()
    connection.close()
    # the worker is free for others again only after the search has ended
    ticket = Tickets().take("other", lambda: False)
    client.server.session._job.submit(ticket, lambda: None).result(20)
    assert ended == ["ended"]


def test_an_overtaken_search_raises_at_its_next_step(monkeypatch):
    ended: list[str] = []
    monkeypatch.setattr(recommendations, "recommend", search(["one"], threading.Event(), ended))
    tickets, worker = Tickets(), Worker()
    ticket = tickets.take("a", lambda: False)
    parts = recommendations.Recommendations(worker).recommend(MODEL, "vegas", ticket)
    next(parts)
    tickets.take("a", lambda: False)
    with pytest.raises(Overtaken):
        list(parts)
    with pytest.raises(Overtaken):
        worker.compute(ticket, lambda: math.nan)
    assert ended == ["ended"]


def test_why_needs_the_recommended_network():
    ticket = Tickets().take("why", lambda: False)
    with pytest.raises(vf.Unsupported, match="press Recommend first"):
        list(recommendations.Recommendations(Worker()).why(MODEL, ticket))


def test_a_setting_is_recommended_with_the_same_alpha_and_beta_on_the_same_network():
    law = vf.Vegas(alpha=7, beta=9, gamma=1.0, dialect="ns2")
    after = SimpleNamespace(law=law)
    network = MODEL.network.with_law("vegas", law)
    found: Any = SimpleNamespace(after=after, tuned="vegas", network=network)
    same = MODEL.network.with_law("vegas", vf.Vegas(alpha=7, beta=9, dialect="ns2"))
    assert recommendations.is_recommended(found, same)
    other = MODEL.network.with_law("vegas", vf.Vegas(alpha=7, beta=10, dialect="ns2"))
    assert not recommendations.is_recommended(found, other)
    larger = replace(same, flows={**same.flows, "reno": replace(same.flows["reno"], count=3)})
    assert not recommendations.is_recommended(found, larger)
    assert not recommendations.is_recommended(
        found, replace(same, flows={"reno": same.flows["reno"]})
    )


@pytest.mark.slow
def test_why_is_the_explanation_of_the_last_recommendation(client: Client, document):
    found = client.post("recommend", document=document, tab="why").lines[-1]["recommended"]
    values = {"vegas.alpha_packets": found["alpha"], "vegas.beta_packets": found["beta"]}
    changed = client.ask("run", document=document, set=values)["document"]
    why = client.post("why", document=changed, tab="why").lines[-1]["why"]
    times = {"until": MODEL.duration, "warmup": MODEL.warmup}
    recommendation = vf.recommend(MODEL.network, "vegas", **times)
    expected = tuning.explain(recommendation, **times)
    assert why["alpha"] == found["alpha"]
    assert sum(packets for _, packets in why["terms"]) == pytest.approx(why["alpha"], abs=0.02)
    assert why["rules"][0][0] == "recommended"
    defaults = expected.defaults.packets
    assert why["rules"][-1][3:6] == pytest.approx([defaults.ratio, *defaults.interval])
    assert len(why["lines"]) >= 4
