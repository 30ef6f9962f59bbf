"""Step marking in files for ns-2, ns-3 and FreeBSD, and RED's marks in ns-2; ns-2 and ns-3 run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import vegasfluid as vf
from vegasfluid.aqm.base import QueueDiscipline
from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.export import export_model
from vegasfluid.model import Model
from vegasfluid.packet import record_packets

NS = shutil.which("ns")
NS3_PYTHON = os.environ.get("VEGASFLUID_NS3_PYTHON")
"""A Python with the PyPI package ns3."""
needs_ns = pytest.mark.skipif(NS is None, reason="ns-2 is not installed (Debian: ns2)")
CLOSE = 0.1
"""Largest relative difference of marks from a simulator's: 0.3 to 2.5 % were found, 9 % over a
threshold of 60 packets, with 30 marks a second, and 6 % in ns-3."""
QUEUES = 0.05
"""Largest relative difference of a mean queue from a simulator's."""


def model(aqm: QueueDiscipline, law: vf.Reno | vf.Dctcp | None = None, ecn: bool = True) -> Model:
    """Four flows at 10 Mbit/s with base RTTs from 30 to 51 ms, for 60 s after 20 s."""
    flows = vf.Flows(
        4,
        law or vf.Reno(recovery="sack"),
        base_rtt=tuple(vf.ms(rtt) for rtt in (30, 37, 44, 51)),
        start=(0.0, 0.5, 1.0, 1.5),
        ecn=ecn,
        host="ns3" if law else "ns2",
    )
    link = vf.Link(vf.mbps(10), 200, aqm, delay=0.005)
    return Model(vf.Network(link, {"flows": flows}), duration=80, warmup=20)


def files_of(aqm: QueueDiscipline, name: str) -> str:
    return "\n".join(export_model(model(aqm), name).files.values())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ns2", "RED 200 {thresh_ 1 maxthresh_ 21 linterm_ 1000000000000.0 q_weight_ 1 "),
        ("ns2", " setbit_ 1 mark_p_ 2 "),
        ("ns3", "ns3::RedQueueDisc::MaxSize 199p\n"),
        ("ns3", "ns3::RedQueueDisc::MinTh 20.0\n"),
        ("ns3", "ns3::RedQueueDisc::MaxTh 20.0\n"),
        ("ns3", "ns3::RedQueueDisc::QW 1.0\n"),
        ("ns3", "ns3::RedQueueDisc::UseHardDrop false\n"),
        ("freebsd", " queue 200 red 1/20/21/1 ecn\n"),
    ],
)
def test_the_threshold_is_exported(name: str, words: str) -> None:
    """K of 20.5 packets is that of 20: a queue is a whole number of packets."""
    for threshold in (20, 20.5):
        assert words in files_of(vf.StepMarking(threshold), name)


@pytest.mark.parametrize("name", ["linux", "netns"])
def test_linux_has_no_step_marking(name: str) -> None:
    with pytest.raises(Unsupported) as caught:
        files_of(vf.StepMarking(20), name)
    assert str(caught.value) == (
        "links.bottleneck: aqm step in Linux is not supported: tc red averages the queue with a "
        "weight of at most 1/2, and ce_threshold of codel and fq is a delay."
    )


@pytest.mark.parametrize(("name", "title"), [("ns2", "ns-2"), ("ns3", "ns-3")])
def test_a_threshold_of_one_packet_is_rejected(name: str, title: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        files_of(vf.StepMarking(1), name)
    assert str(caught.value) == (
        f"links.bottleneck: aqm.threshold must be at least 2 packets for {title}, but is 1."
    )


def run_ns2(text: str, folder: Path) -> str:
    """Output of ns-2 for a script."""
    path = folder / "scenario.tcl"
    path.write_text(text)
    done = subprocess.run([str(NS), path], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_ns
@pytest.mark.parametrize(
    ("threshold", "ecn"), [(2, True), (20, True), (20.5, True), (20, False), (40, True)]
)
def test_ns2_marks_each_packet_that_finds_more_than_the_threshold(
    threshold: float, ecn: bool, tmp_path: Path
) -> None:
    """By ns-2's trace: what each packet of 60000 finds (`+`), and its mark (`E`) or drop (`d`)."""
    text = files_of_step(threshold, ecn)
    trace = tmp_path / "trace"
    opened = f"\nset trace [open {trace} w]\n$ns trace-queue $node(0) $node(1) $trace\ncount_on\n"
    text = text.replace("\ncount_on\n", opened).replace(
        "    flush stdout\n", "    close $::trace\n"
    )
    run_ns2(text, tmp_path)
    waiting, found, answered = 0, {}, 0
    for line in trace.read_text().splitlines():
        event, flags, packet = (line.split()[column] for column in (0, 6, -1))
        if event == "+":
            found[packet] = waiting
            waiting += 1
        if event not in "-d":
            continue
        waiting -= 1
        if event == "d":
            assert found[packet] > threshold
        else:
            assert ("E" in flags) == (found[packet] > threshold)
        answered += event == "d" or "E" in flags
    assert answered > 100


def files_of_step(threshold: float, ecn: bool) -> str:
    """The script for ns-2 of flows whose packets can be marked (`ecn`) or not."""
    network = model(vf.StepMarking(threshold), ecn=ecn)
    return export_model(network, "ns2").files["scenario.tcl"]


def ours(one: Model) -> dict[str, float]:
    """Marks and drops per second and the mean queue, packets, of the packet simulator."""
    run = record_packets(one.network, np.unique([0.0, one.warmup, one.duration]), 1)
    totals, marked = run.totals_after(one.warmup), run.links["marked"][:, 0]
    return {
        "marks": float(marked[-1] - marked[1]) / (one.duration - one.warmup),
        "queue": float(totals.mean_queue[0]),
        "drops": float(totals.lost[0]),
    }


def in_ns2(one: Model, folder: Path) -> dict[str, float]:
    """The same of ns-2; `drops` is the fraction of packets dropped."""
    text = export_model(one, "ns2").files["scenario.tcl"]
    for head, added in (
        ("proc end_warmup {} {", "set ::marked [$::monitor(0) set pmarks_]"),
        ("proc print_queues {} {", 'puts "marks [expr [$::monitor(0) set pmarks_] - $::marked]"'),
    ):
        text = text.replace(head, f"{head}\n    {added}")
    out = run_ns2(text, folder)
    marks, queue, drops = (
        float(re.findall(rf"\b{word} (\S+)", out)[0])
        for word in ("marks", "queue_packets", "drop_share")
    )
    return {"marks": marks / (one.duration - one.warmup), "queue": queue, "drops": drops}


@pytest.mark.slow
@pytest.mark.unoptimised
@needs_ns
@pytest.mark.parametrize(
    "aqm",
    [
        vf.StepMarking(20),
        pytest.param(vf.StepMarking(60), marks=pytest.mark.slow),
        pytest.param(vf.Red(5, 15, max_drop=0.5, weight=0.02, ecn=True), marks=pytest.mark.slow),
        pytest.param(
            vf.Red(5, 15, max_drop=0.5, weight=0.02, ecn=True, hard_drop=True),
            marks=pytest.mark.slow,
        ),
        pytest.param(vf.Red(20, 23, max_drop=0.02, weight=0.5, ecn=True), marks=pytest.mark.slow),
    ],
)
def test_marks_and_queue_are_the_packet_simulators(aqm: QueueDiscipline, tmp_path: Path) -> None:
    """RED marks also where its curve is above 0.1, ns-2's default for the largest probability."""
    one = model(aqm)
    found, expected = ours(one), in_ns2(one, tmp_path)
    assert found["marks"] == pytest.approx(expected["marks"], rel=CLOSE)
    assert found["queue"] == pytest.approx(expected["queue"], rel=QUEUES)
    assert found["drops"] == expected["drops"] == 0


@pytest.mark.slow
@pytest.mark.skipif(NS3_PYTHON is None, reason="VEGASFLUID_NS3_PYTHON names no Python with ns3")
def test_ns3_marks_as_many_packets_of_dctcp(tmp_path: Path) -> None:
    """With a threshold one packet higher the queue would be 5 % longer."""
    one = model(vf.StepMarking(20), law=vf.Dctcp())
    script, marks = tmp_path / "scenario.py", "self.discipline.GetStats().nTotalMarkedPackets"
    text = export_model(one, "ns3").files["scenario.py"]
    text = text.replace(
        "        self.before = self.totals()",
        f"        self.before, self.marked = self.totals(), {marks}",
    ).replace(
        '        return f"queue_packets',
        f'        print("marks", {marks} - self.marked)\n        return f"queue_packets',
    )
    script.write_text(text)
    done = subprocess.run(
        [str(NS3_PYTHON), script], capture_output=True, text=True, check=True, timeout=300
    )
    queue, marked = (
        float(re.findall(rf"\b{word} (\S+)", done.stdout)[0]) for word in ("queue_packets", "marks")
    )
    found = ours(one)
    assert found["queue"] == pytest.approx(queue, rel=QUEUES / 2)
    assert found["marks"] * (one.duration - one.warmup) == pytest.approx(marked, rel=CLOSE)
