"""Settings for Linux and FreeBSD, and the scenario for ns-3: what stands in the files."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from dataclasses import replace

import pytest

import vegasfluid as vf
from tests.paths import MODELS
from vegasfluid import modelfile
from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.export import FORMATS, OperatingPoint, export_model
from vegasfluid.export.red_in_tc import burst_for, rounded_red, step_of_old_kernels, weight_log
from vegasfluid.model import Model

POINT = OperatingPoint(4.0, 20.0, 1e-4)
NS3_PYTHON = os.environ.get("VEGASFLUID_NS3_PYTHON")
"""A Python with the PyPI package ns3."""
NAMES = [
    'a"; exit 3; "',
    "$(exit 3)",
    "`exit 3`",
    "'",
    "{",
    "a\\",
    "x\ny",
    "# -*- coding: utf-7",
    '"""',
]


def network(name: str = "vegas", **red) -> vf.Network:
    queue = vf.Red(**{"min_thresh": 20, "max_thresh": 80, "max_drop": 0.1, **red})
    flows = {
        "reno": vf.Flows(2, vf.Reno(recovery="sack"), base_rtt=vf.ms(20)),
        name: vf.Flows(2, vf.Vegas(6, 8, 1, dialect="linux"), base_rtt=vf.ms(20)),
    }
    return vf.Network(vf.Link(vf.mbps(10), 100, queue, delay=0.0047), flows)


def exported(name: str, model: Model | None = None, **points: OperatingPoint):
    model = model or Model(network(), duration=20, warmup=5)
    points = points or dict.fromkeys(model.network.flows, POINT)
    return export_model(model, name, points=points)


def line_with(text: str, part: str) -> str:
    (line,) = (line.strip() for line in text.splitlines() if part in line)
    return line


# RED as tc and the kernel round it

BURSTS = {1: 33, 2: 35, 3: 39, 4: 46, 5: 57, 6: 75, 7: 101, 8: 135, 9: 190}
"""The kernel's own table for min / avpkt = 32 (include/net/red.h): -log2(W) and the burst."""


@pytest.mark.parametrize("wlog", BURSTS)
def test_weight_is_that_of_the_kernels_table(wlog):
    """Its bursts are where the next weight begins, to some packets."""
    assert weight_log(32 * 1000, BURSTS[wlog] - 1, 1000) == wlog
    assert weight_log(32 * 1000, BURSTS[wlog] + 3, 1000) >= wlog + 1
    assert weight_log(32 * 1000, burst_for(wlog, 32 * 1000, 1000), 1000) == wlog


def test_bursts_that_tc_rejects():
    assert weight_log(32 * 1000, 32, 1000) == 1
    assert weight_log(32 * 1000, 31, 1000) is None


def test_probability_of_old_kernels_is_a_power_of_two_a_byte():
    """At most what was asked, more than half of it; 2^-23 a byte for 0.02 over 96 KB."""
    plog = step_of_old_kernels(32 * 1024, 128 * 1024, 0.02)
    assert 0.01 < 96 * 1024 / 2**plog <= 0.02


def test_linux_writes_red_with_its_rounding():
    """By hand: 80 - 20 packets are 90000 bytes, of 2^32 a tenth is 429496729, and 4772 a byte."""
    text = exported("linux", Model(network(weight=0.002), duration=20)).files["tune.sh"]
    line = line_with(text, "red limit")
    assert "limit 150000 min 30000 max 120000 avpkt 1500 burst " in line
    assert line.endswith("probability 0.1 bandwidth 10000000bit")
    burst = int(re.search(r"burst (\d+)", line)[1])
    assert weight_log(30000, burst, 1500) == 9
    assert "weight: 0.002 in the model, 0.001953 in tc (2^-9, from min" in text
    threshold = 4772 * 90000 / 2**32
    assert f"probability: 0.1 in the model, {threshold:.4g} in Linux (0.08583 before 3.3" in text


def test_large_thresholds_leave_little_of_the_weight():
    """The kernel refuses thresholds of 32 bits after the shift: 40 MB allow 5 bits."""
    red = rounded_red(vf.Red(min_thresh=6711, max_thresh=26843, max_drop=1.0), 33554, 1500)
    assert (red.wlog, red.wanted_wlog) == (5, 9)
    assert red.high * 2**red.wlog < 2**31 <= red.high * 2 ** (red.wlog + 1)
    assert red.probability < 1
    with pytest.raises(InvalidInput, match="max_thresh must be below 2147483648 bytes for linux"):
        rounded_red(vf.Red(min_thresh=1e6, max_thresh=2e6), 3e6, 1500)


def test_switches_of_red():
    marking = Model(network(ecn=True, adaptive=True), duration=20)
    text = exported("linux", marking).files["tune.sh"]
    assert line_with(text, "red limit").endswith("bandwidth 10000000bit adaptive ecn")
    hard = exported("linux", Model(network(ecn=True, hard_drop=True), duration=20))
    assert line_with(hard.files["tune.sh"], "red limit").endswith(" ecn harddrop")
    gentle = exported("linux", Model(network(gentle=True, wait=False), duration=20))
    assert any("not gentle" in note for note in gentle.notes)
    assert not any("(wait)" in note for note in gentle.notes)
    freebsd = exported(
        "freebsd", Model(network(gentle=True, ecn=True, hard_drop=True), duration=20)
    )
    assert any("marks above the upper threshold" in note for note in freebsd.notes)
    assert not any("hard_drop" in note for note in exported("freebsd", marking).notes)
    text = freebsd.files["tune.sh"]
    assert re.search(r"queue 100 gred \d\.\d+/20/80/\d\.\d+ ecn$", text, re.MULTILINE)


# Vegas's parameters


def test_linux_takes_its_own_dialect_as_it_is():
    files = exported("linux").files
    assert list(files) == ["tune.sh", "tcp_vegas.conf"]
    assert files["tcp_vegas.conf"].splitlines()[-1] == "options tcp_vegas alpha=6 beta=8 gamma=1"
    assert "    vegas 6 8 1\n" in files["tune.sh"]
    assert "sysctl -w net.ipv4.tcp_congestion_control=vegas" in files["tune.sh"]


def test_hosts_with_other_parameters_have_files_of_their_own():
    two = network()
    more = vf.Flows(1, vf.Vegas(9, 11, 2, dialect="linux"), base_rtt=vf.ms(20))
    model = Model(replace(two, flows={**two.flows, "more": more}), duration=20)
    files = exported("linux", model).files
    assert list(files) == ["tune.sh", "tcp_vegas-1.conf", "tcp_vegas-2.conf"]
    assert "options tcp_vegas alpha=9 beta=11 gamma=2\n" in files["tcp_vegas-2.conf"]
    assert list(exported("freebsd", model).files) == ["tune.sh", "sysctl-1.conf", "sysctl-2.conf"]
    with pytest.raises(InvalidInput, match="the same in all its classes for ns-3"):
        exported("ns3", model)


def test_freebsd_counts_the_backlog_as_the_textbook_rounded_down():
    """Linux's 6 to 8 is a backlog of 6/4 to 9/4 where the RTT is 4 times the base."""
    exports = exported("freebsd")
    assert {key: exports.vegas["vegas"].values[key] for key in ("alpha", "beta")} == {
        "alpha": 2,
        "beta": 2,
    }
    text = exports.files["tune.sh"]
    assert text.index("vegas.alpha=1") < text.index("vegas.beta=") < text.index('alpha="$1"')
    assert "delay: 4.7 ms in the model, 5 ms in dummynet" in " ".join(text.split("\n    # "))
    lines = exports.files["sysctl.conf"].splitlines()[-3:]
    assert [line.partition("=")[2] for line in lines] == ["2", "2", "vegas"]


def test_a_system_that_cannot_follow_is_rejected():
    law = vf.Vegas(30, 32, dialect="ns2")
    model = Model(network().with_law("vegas", law), duration=20)
    losing = OperatingPoint(3.0, cwnd=100.0, drop_prob=4e-4)
    for name in ("linux", "freebsd"):
        with pytest.raises(InvalidInput) as caught:
            exported(name, model, vegas=losing)
        assert f"flows.vegas: law must be one that {name} can reproduce" in str(caught.value)
        assert "takes 50% of the window at a loss" in str(caught.value)
    exported("ns3", model, vegas=losing)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("linux", vf.VegasRerouting()),
        ("freebsd", vf.HighSpeed()),
        ("ns3", vf.VegasRerouting()),
        ("ns3", vf.HighSpeed(low_window=50)),
    ],
)
def test_laws_that_a_system_lacks_are_rejected(name, law):
    model = Model(network().with_law("reno", law), duration=20)
    with pytest.raises(InvalidInput, match=r"^flows.reno: law"):
        exported(name, model)


@pytest.mark.parametrize(
    ("name", "law", "message"),
    [
        ("linux", vf.Cubic(C=0.5), "law.C must be 0.4 for Linux, but is 0.5"),
        ("linux", vf.Cubic(friendly_increase=0.5), "friendly_increase 0.5 is not supported"),
        ("linux", vf.Scalable(decrease=0.25), "law.decrease must be 0.125 for Linux"),
        ("linux", vf.HighSpeed(low_window=40), "law.low_window must be 38 for Linux"),
        ("freebsd", vf.Cubic(beta=0.8), "law.beta must be 0.7 for FreeBSD, but is 0.8"),
    ],
)
def test_what_a_kernel_fixes_must_be_the_models(name, law, message):
    """A file of settings cannot change it, so the result would be another network."""
    given = network()
    flows = {**given.flows, "reno": replace(given.flows["reno"], law=law)}
    with pytest.raises(InvalidInput, match=message):
        exported(name, Model(replace(given, flows=flows), duration=20, warmup=5))


def test_unknown_formats_and_seeds_are_rejected():
    model = Model(network(), duration=20)
    with pytest.raises(InvalidInput, match=f"format must be one of {', '.join(FORMATS)}, but"):
        export_model(model, "ns4")
    with pytest.raises(InvalidInput, match="seed must be from 0"):
        export_model(model, "linux", seed=-1)


# What the files are


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize("system", ["linux", "freebsd"])
def test_scripts_are_shell(system, shell, tmp_path):
    for path in MODELS.glob("*.toml"):
        script = tmp_path / "tune.sh"
        script.write_text(exported(system, modelfile.load(path)).files["tune.sh"])
        done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("system", ["linux", "freebsd"])
@pytest.mark.parametrize("name", NAMES)
def test_scripts_act_on_nothing_that_a_name_holds(system, name, tmp_path):
    """Without an argument a script only lists its parts, and with one it needs a device."""
    model = Model(network(name), duration=20, title=name, source=name)
    text = exported(system, model).files["tune.sh"]
    script = tmp_path / "tune.sh"
    script.write_text(text)
    for arguments, message in (
        ([], "parts: host-1 host-2 queue-1\n"),
        (["queue-1"], "usage: sh tune.sh queue-1"),
    ):
        done = subprocess.run(
            ["sh", script, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.startswith(message)


COMMANDS = ("tc", "modprobe", "sysctl", "kldload", "kldstat", "kenv", "ipfw")


def test_parts_run_the_commands_that_they_show(tmp_path):
    """Each command is replaced by one that writes down how it was called."""
    for command in COMMANDS:
        tool = tmp_path / command
        tool.write_text('#!/bin/sh\necho "$(basename "$0") $*"\n[ "$1" != -q ]\n')
        tool.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def called(system: str, *arguments: str) -> list[str]:
        script = tmp_path / "tune.sh"
        script.write_text(exported(system).files["tune.sh"])
        done = subprocess.run(
            ["sh", script, *arguments], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout.splitlines()

    assert called("linux", "host-1") == ["sysctl -w net.ipv4.tcp_congestion_control=reno"]
    plain, shaped = called("linux", "queue-1", "eth0"), called("linux", "queue-1", "eth0", "shape")
    assert [line.partition(" red ")[0] for line in plain] == ["tc qdisc replace dev eth0 root"]
    assert shaped[1] == "tc class replace dev eth0 parent 1: classid 1:1 htb rate 10000000bit"
    assert shaped[2].startswith("tc qdisc replace dev eth0 parent 1:1 handle 10: red limit ")
    assert called("freebsd", "host-2") == [
        "kldload -n cc_vegas",
        "sysctl net.inet.tcp.cc.vegas.alpha=1",
        "sysctl net.inet.tcp.cc.vegas.beta=2",
        "sysctl net.inet.tcp.cc.vegas.alpha=2",
        "sysctl net.inet.tcp.cc.algorithm=vegas",
    ]
    assert (
        called("freebsd", "queue-1", "em0")[-1] == "ipfw add pipe 1 ip from any to any out via em0"
    )


ATTRIBUTES = {
    "ns3::TcpSocket": "InitialCwnd InitialSlowStartThreshold SndBufSize RcvBufSize SegmentSize "
    "DelAckCount DelAckTimeout",
    "ns3::TcpSocketBase": "MinRto UseEcn Timestamp Sack",
    "ns3::TcpVegas": "Alpha Beta Gamma",
    "ns3::TcpCubic": "C Beta FastConvergence TcpFriendliness HyStart",
    "ns3::TcpScalable": "AIFactor MDFactor",
    "ns3::RedQueueDisc": "MaxSize MinTh MaxTh LInterm QW Gentle Wait UseEcn UseHardDrop AdaptMaxP "
    "Bottom MeanPktSize LinkBandwidth LinkDelay",
    "ns3::FifoQueueDisc": "MaxSize",
}
"""As `ns3::TypeId` of the PyPI package ns3 3.44 lists them."""


@pytest.mark.parametrize("law", [vf.Cubic(), vf.Scalable(), vf.HighSpeed(), vf.NewReno()])
def test_attributes_of_ns3_exist(law):
    exports = exported("ns3", Model(network().with_law("reno", law), duration=20))
    assert list(exports.files) == ["scenario.py", "attributes.txt"]
    lines = [line for line in exports.files["attributes.txt"].splitlines() if line[0] != "#"]
    assert "ns3::TcpVegas::Alpha 2" in lines
    assert "ns3::RedQueueDisc::LInterm 10.0" in lines
    for line in lines:
        kind, _, attribute = line.split()[0].rpartition("::")
        assert attribute in ATTRIBUTES[kind].split()


def test_ns3_computes_the_increase_of_cubic():
    law = vf.Cubic(friendly_increase=0.5)
    with pytest.raises(vf.InvalidInput, match="ns-3 computes it from beta"):
        exported("ns3", Model(network().with_law("reno", law), duration=20))


@pytest.mark.parametrize("name", NAMES)
def test_scenario_of_ns3_is_python_and_acts_on_no_name(name):
    model = Model(network(name), duration=20, title=name, source=name)
    text = exported("ns3", model).files["scenario.py"]
    names = [
        node.value
        for node in ast.walk(ast.parse(text.encode()))
        if isinstance(node, ast.Constant) and node.value == " ".join(name.split())
    ]
    assert names


@pytest.mark.skipif(NS3_PYTHON is None, reason="VEGASFLUID_NS3_PYTHON names no Python with ns3")
def test_scenario_of_ns3_runs(tmp_path):
    path = tmp_path / "scenario.py"
    path.write_text(exported("ns3").files["scenario.py"])
    done = subprocess.run([NS3_PYTHON, path], capture_output=True, text=True, check=True)
    rates = re.findall(r"^class (.*) count 2 goodput_packets_per_s (\S+)$", done.stdout, re.M)
    assert [name for name, _ in rates] == ["reno", "vegas"]
    full = 10e6 / 8 / 1500
    # packets that came before the warm-up ends count if one in front of them came after it
    assert 0.9 * full < 2 * sum(float(rate) for _, rate in rates) < 1.005 * full
    ((queue, drops),) = re.findall(
        r"^link bottleneck queue_packets (\S+) drop_share (\S+)$", done.stdout, re.M
    )
    assert 5 < float(queue) < 100
    assert 0 < float(drops) < 0.05


NOT_SUPPORTED = {"netns": ("la_walrand_anantharam_rerouting", "three_equilibria")}
"""Models with a change of delay, or a first threshold of slow start."""
QUEUES = {"openwrt": {"codel", "droptail", "pie"}, "sonic": {"red", "step"}}
"""Queue disciplines of systems that do not have both RED and drop-tail."""


@pytest.mark.parametrize("system", list(FORMATS))
def test_every_model_can_be_exported(system):
    for path in MODELS.glob("*.toml"):
        model = modelfile.load(path)
        if path.stem in NOT_SUPPORTED.get(system, ()):
            with pytest.raises(Unsupported):
                exported(system, model)
            continue
        queues = [link.aqm for link in model.network.links.values()]
        missing = system in QUEUES and not {queue.name for queue in queues} <= QUEUES[system]
        small = any(isinstance(queue, vf.Red) and queue.max_drop <= 0.005 for queue in queues)
        if missing or (system == "sonic" and small):
            with pytest.raises(InvalidInput, match=r"aqm must be|max_drop must be above 0\.005"):
                exported(system, model)
            continue
        files = exported(system, model).files
        assert all(text.endswith("\n") for text in files.values())
        assert all(
            len(line) <= 100 for line in files.get("tune.sh", "").splitlines() if "#" in line
        )
