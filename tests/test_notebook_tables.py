"""Tables that notebooks show for networks, recommendations and equilibria."""

from __future__ import annotations

from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import vegasfluid as vf
from tests.networks import office
from vegasfluid.analysis import equilibrium
from vegasfluid.tuning.result_rows import NotebookTable


class Cells(HTMLParser):
    """The cells of all rows, as text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.in_cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.in_cell = tag in ("th", "td")
        if self.in_cell:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self.in_cell = False

    def handle_data(self, data):
        if self.in_cell:
            self.rows[-1][-1] += data


def rows_of(shown) -> list[list[str]]:
    return Cells(shown._repr_html_()).rows


def test_a_network_has_its_links_and_classes():
    link = vf.Link(vf.mbps(12), 60, vf.Red(10, 30), delay=0.005)
    flows = {"<reno>": vf.Flows(2, vf.Reno(), base_rtt=0.04)}
    assert rows_of(vf.Network(link, flows)) == [
        ["link", "Mbit/s", "packets/s", "delay, ms", "buffer", "queue"],
        ["bottleneck", "12", "1000.0", "5", "60", "red"],
        ["class", "flows", "base RTT, ms", "control", "traffic"],
        ["<reno>", "2", "41.03", "reno", "bulk"],  # and 1.027 ms to send a packet and its ACK
    ]


@pytest.mark.slow
@pytest.mark.unoptimised
def test_an_equilibrium_has_the_queue_and_the_means_of_each_class():
    """Vegas alone: alpha packets each, 2 x 3 in the queue, 100 packets/s each in 50 + 60 ms."""
    link = vf.Link(100.0, 100)
    flows = {"vegas": vf.Flows(2, vf.Vegas(3, 3, dialect="ns2"), base_rtt=0.03)}
    head, (name, *numbers) = rows_of(equilibrium(vf.Network(link, flows)))
    assert head == ["class", "queues", "window", "backlog", "RTT, ms", "goodput, packets/s"]
    queues, window, backlog, rtt, goodput = map(float, numbers)
    assert name == "vegas"
    assert queues == pytest.approx(2 * backlog, rel=1e-4)
    assert goodput == pytest.approx(50, rel=1e-3)
    assert window == pytest.approx(goodput * rtt / 1e3, rel=1e-3)


MEANS = {"ratio": 0.5, "jain_index": 0.9, "utilisation": 1.0, "queue_packets": 7.0}
MEANS |= {"queueing_delay_s": 0.0105, "drop_share": 0.001, "retransmit_share": None}


def document(alpha: float) -> dict:
    parameters = {"alpha_packets": alpha, "beta_packets": alpha + 2}
    return {
        "tuned": "vegas",
        "reached": True,
        "reason": None,
        "recommended": parameters,
        "before": {"alpha_packets": 1, "beta_packets": 3, "fluid": MEANS, "packets": MEANS},
        "fluid": MEANS | {"ratio": 1.02},
        "packets": MEANS | {"ratio": 1.0},
    }


def shown(given: dict) -> list[list[str]]:
    class Result(NotebookTable, SimpleNamespace):
        def as_json(self):
            return given

    return rows_of(Result())


def test_a_recommendation_has_its_numbers_and_the_means_before_and_after():
    assert shown(document(31.0)) == [
        ["", "before", "recommended"],
        ["vegas.alpha_packets", "1", "31"],
        ["vegas.beta_packets", "3", "33"],
        ["ratio, fluid model", "0.500", "1.020"],
        ["ratio, packets", "0.500", "1.000"],
        ["Jain index", "0.900", "0.900"],
        ["utilisation", "100.0%", "100.0%"],
        ["mean queue, packets", "7", "7"],
        ["queueing delay, ms", "10.5", "10.5"],
        ["loss ratio", "1.00e-03", "1.00e-03"],
    ]


def test_several_classes_and_named_numbers_have_a_row_each():
    joint = document(31.0) | {"classes": {"near": document(8.0), "far": document(9.0)}}
    assert [row[:3] for row in shown(joint)[1:5]] == [
        ["near.alpha_packets", "1", "8"],
        ["near.beta_packets", "3", "10"],
        ["far.alpha_packets", "1", "9"],
        ["far.beta_packets", "3", "11"],
    ]
    named = document(31.0) | {"parameters": {"link.buffer": {"before": 100, "recommended": 26.5}}}
    assert shown(named)[1] == ["link.buffer", "100", "26.5"]


def test_a_real_recommendation_is_shown():
    found = vf.recommend(office(), until=10.0, warmup=3.0, runs=2)
    rows = rows_of(found)
    assert rows[1] == ["vegas.alpha_packets", "1", f"{found.after.law.alpha:g}"]
    assert rows[4] == [
        "ratio, packets",
        f"{found.before.packets.ratio:.3f}",
        f"{found.after.packets.ratio:.3f}",
    ]
    assert "Goal reached" in found._repr_html_()
