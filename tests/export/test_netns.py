"""The test in network namespaces: its commands by hand, what it refuses, and its program."""

from __future__ import annotations

import json
import random
import shutil
import socket
import struct
import subprocess
from dataclasses import replace

import pytest

import vegasfluid as vf
from tests.paths import MODELS
from vegasfluid import modelfile
from vegasfluid.errors import InvalidInput, Unsupported
from vegasfluid.export import OperatingPoint, export_model
from vegasfluid.export.netns import traffic
from vegasfluid.export.netns.namespaces import address_of, hardware
from vegasfluid.model import Model

POINT = OperatingPoint(2.0, 20.0, 0.0)
LINUX = vf.Vegas(6, 8, 1, dialect="linux")
SHELLCHECK = shutil.which("shellcheck")


def network(**more) -> vf.Network:
    """10 Mbit/s, drop-tail of 50 packets, base RTT 40 ms; 1.2416 ms for a packet and its ACK."""
    link = vf.Link(vf.mbps(10), 50, more.pop("aqm", vf.DropTail()))
    flows = {
        "reno": vf.Flows(2, vf.Reno(recovery="sack"), base_rtt=0.04, send_overhead=0.0),
        "vegas": vf.Flows(1, more.pop("law", LINUX), base_rtt=0.04, send_overhead=0.0, **more),
    }
    return vf.Network(link, flows)


def files(given: vf.Network, **times) -> dict[str, str]:
    model = Model(given, **{"duration": 20, "warmup": 5, **times})
    points = dict.fromkeys(given.flows, POINT)
    return dict(export_model(model, "netns", points=points).files)


def commands(given: vf.Network, namespace: str) -> list[str]:
    """The lines that the script gives to ip and tc in a namespace."""
    lines, found, inside = files(given)["test.sh"].splitlines(), [], False
    for line in lines:
        if inside and line != "END":
            found.append(line)
        inside = line.endswith(f"_in {namespace} <<END") or (inside and line != "END")
    return found


def plan(given: vf.Network) -> dict:
    return json.loads(files(given)["plan.json"])


# Commands


def test_link_is_a_token_bucket_of_its_rate_with_its_queue():
    """833.33 packets of 1514 bytes in a second are 10 093 333 bit/s."""
    assert [line for line in commands(network(), "r0") if "link0" in line and "qdisc" in line] == [
        "qdisc add dev link0 root handle 1: tbf rate 10093333bit burst 1600 limit 1000000000",
        "qdisc add dev link0 parent 1:1 handle 10: pfifo limit 50",
    ]
    assert not any("qdisc" in line for line in commands(network(), "r1"))


def test_red_counts_frames():
    """20, 80 and 100 packets of 1514 bytes."""
    red = vf.Red(min_thresh=10, max_thresh=40, max_drop=0.1, weight=2**-9, ecn=True)
    (line,) = (line for line in commands(network(aqm=red), "r0") if " red " in line)
    words = line.split("red limit ")[1].split()
    assert words[:5] == ["75700", "min", "15140", "max", "60560"]
    assert "avpkt 1514" in line
    assert "bandwidth 10093333bit" in line
    assert line.endswith(" ecn harddrop" if red.hard_drop else " ecn")


def test_delay_is_the_base_rtt_with_all_transmission():
    """(40 ms + 1.2 ms (1 + 52 / 1500)) / 2 = 20.6208 ms each way; all hosts are Linux's."""
    assert commands(network(), "h1-0") == [
        "link set eth0 gso_max_segs 1",
        "address add 10.0.0.5/30 dev eth0",
        "link set eth0 up",
        "neighbour add 10.0.0.6 lladdr 02:00:0a:00:00:06 nud permanent dev eth0",
        "route add default via 10.0.0.6",
        "qdisc add dev eth0 root netem limit 1000000 delay 20620.8us",
    ]
    assert "qdisc add dev h1-0 root netem limit 1000000 delay 20620.8us" in commands(
        network(), "r0"
    )


def test_access_rates_are_netems_and_each_flow_has_a_host():
    """100 Mbit/s each way: 0.12416 ms of netem's own, and as much for the receiver's link."""
    given = network(access=vf.mbps(100))
    assert plan(given)["flows"][2]["from"] == "h1-0"
    (line,) = (line for line in commands(given, "h1-0") if "netem" in line)
    assert line.endswith("delay 20682.88us rate 100933333bit")
    two = replace(given, flows={"a": replace(given.flows["vegas"], count=2)})
    assert [flow["from"] for flow in plan(two)["flows"]] == ["h0-0", "h0-1"]


def test_random_overhead_is_netems_jitter_in_order():
    """Uniform from 0 to 1.2 ms: a mean of 0.6 ms, and as much to each side."""
    given = network()
    noisy = replace(given, flows={"a": replace(given.flows["reno"], send_overhead=0.0012)})
    (line,) = (line for line in commands(noisy, "h0-0") if "netem" in line)
    assert line.endswith("delay 21216us 600us rate 100gbit")


def test_flows_of_one_rtt_share_a_host():
    assert [flow["from"] for flow in plan(network())["flows"]] == ["h0-0", "h0-0", "h1-0"]
    flows = {"a": vf.Flows(3, LINUX, base_rtt=(0.04, 0.05, 0.04), send_overhead=0.0)}
    assert [flow["from"] for flow in plan(replace(network(), flows=flows))["flows"]] == [
        "h0-0",
        "h0-1",
        "h0-0",
    ]


def test_plan_has_what_the_program_sends():
    given = plan(network(start=0.5, max_window=20))
    assert given["segment_bytes"] == 1448
    assert given["classes"] == [["reno", 2], ["vegas", 1]]
    assert given["links"] == [{"name": "bottleneck", "namespace": "r0", "device": "link0"}]
    assert given["flows"][0] == {
        "class": 0,
        "control": "reno",
        "from": "h0-0",
        "to": "d0",
        "address": "10.1.0.1",
        "port": 5001,
        "start": 0.0,
        "window_bytes": 0,
    }
    last = given["flows"][2]
    assert (last["control"], last["address"], last["start"]) == ("vegas", "10.1.0.5", 0.5)
    assert last["window_bytes"] == 20 * 1448


def test_host_settings_are_those_of_routes():
    linux = network()
    assert "route add default via 10.0.0.6" in commands(linux, "h1-0")
    assert "route add default via 10.1.0.6" in commands(linux, "d1")
    given = network(initial_window=2, min_rto=1.0, delayed_ack=0.0)
    assert "route add default via 10.0.0.6 initcwnd 2 rto_min 1000ms" in commands(given, "h1-0")
    assert "route add default via 10.1.0.6 quickack 1" in commands(given, "d1")
    textbook = network(host="textbook")
    assert "route add default via 10.0.0.6 initcwnd 1" in commands(textbook, "h1-0")
    assert "route add default via 10.1.0.6 quickack 1" in commands(textbook, "d1")


def test_notes_say_what_linux_hosts_do_otherwise():
    given = network(delayed_ack=0.1)
    slow = replace(given, flows={**given.flows, "old": replace(given.flows["reno"], law=vf.Reno())})
    notes = export_model(Model(slow, duration=20), "netns").notes
    assert (
        "Linux delays ACKs adaptively, by 40 ms or more; in the model, vegas delays them by 100 ms."
        in notes
    )
    assert not any("the model's reno" in note for note in notes)
    given = network(host="textbook", law=vf.Reno(recovery="newreno"))
    (note,) = (note for note in export_model(Model(given, duration=20), "netns").notes[1:])
    assert note == (
        "Linux recovers from losses with SACK; in the model, vegas has the recovery newreno."
    )


def test_several_links_are_a_chain_of_routers():
    """A class over both links, one over the second only; hosts at node n have 10.n.0.0/16."""
    links = {"up": vf.Link(1000.0, 50), "down": vf.Link(2000.0, 50)}
    law = vf.Reno(recovery="sack")
    flows = {
        "long": vf.Flows(1, law, base_rtt=0.04, path=("up", "down")),
        "short": vf.Flows(1, law, base_rtt=0.04, path=("down",)),
    }
    given = vf.Network(links, flows)
    routes = {
        name: [line for line in commands(given, name) if line.startswith("route")]
        for name in ("r0", "r1", "r2")
    }
    assert routes == {
        "r0": ["route add 10.1.0.0/16 via 10.255.0.2", "route add 10.2.0.0/16 via 10.255.0.2"],
        "r1": ["route add 10.0.0.0/16 via 10.255.0.1", "route add 10.2.0.0/16 via 10.255.0.6"],
        "r2": ["route add 10.1.0.0/16 via 10.255.0.5", "route add 10.0.0.0/16 via 10.255.0.5"],
    }
    ends = [(flow["from"], flow["to"], flow["address"]) for flow in plan(given)["flows"]]
    assert ends == [("h0-0", "d0", "10.2.0.1"), ("h1-0", "d1", "10.2.0.5")]
    assert "address add 10.1.0.1/30 dev eth0" in commands(given, "h1-0")
    assert "qdisc add dev link1 parent 1:1 handle 10: pfifo limit 50" in commands(given, "r1")


def test_reverse_flows_have_the_queue_of_the_other_direction():
    given = network(direction="reverse")
    assert "qdisc add dev link0 parent 1:1 handle 10: pfifo limit 50" in commands(given, "r1")
    assert "address add 10.1.0.5/30 dev eth0" in commands(given, "h1-0")


def test_addresses_are_distinct():
    assert (address_of(0, 0), address_of(1, 0), address_of(2**14, 1)) == (
        "10.0.0.1",
        "10.0.0.5",
        "10.1.0.2",
    )
    assert hardware(255 * 2**14, 1) == "02:00:0a:ff:00:02"


# What is not supported


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traffic": vf.Cbr(100.0)}, "flows.vegas: traffic cbr is not supported"),
        ({"initial_ssthresh": 20}, "flows.vegas: initial_ssthresh 20 packets is not supported"),
    ],
)
def test_hosts_that_linux_has_not_are_refused(change, message):
    with pytest.raises(Unsupported, match=message):
        files(network(**change))


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (vf.VegasRerouting(), "law must be one that Linux has"),
        (vf.Cubic(C=0.5), "law.C must be 0.4 for Linux"),
        (vf.Cubic(friendly_increase=0.5), "friendly_increase 0.5 is not supported: Linux computes"),
        (vf.Scalable(decrease=0.25), "law.decrease must be 0.125 for Linux"),
        (vf.Vegas(7, 9, 1, dialect="linux"), "one alpha, beta and gamma"),
    ],
)
def test_congestion_controls_that_linux_has_not_are_refused(law, message):
    given = network()
    with pytest.raises(InvalidInput, match=message):
        files(replace(given, flows={**given.flows, "x": replace(given.flows["reno"], law=law)}))


def test_networks_that_do_not_stay_as_they_are_are_refused():
    given = network()
    with pytest.raises(Unsupported, match="events: a change of delay is not supported"):
        files(replace(given, events=(vf.Event(5.0, "bottleneck", 0.01),)))
    with pytest.raises(InvalidInput, match="jitter must be 0 for Linux"):
        files(replace(given, links={"bottleneck": replace(given.link, jitter=0.001)}))
    with pytest.raises(InvalidInput, match="packet_bytes must be at least 576"):
        files(replace(given, packet_bytes=500))


# The script


def test_vegas_parameters_are_set_and_put_back():
    script = files(network())["test.sh"]
    assert "\nset_vegas 6 8 1 ||" in script
    assert script.index('alpha=$(cat "$parameters/alpha")') < script.index("\nset_vegas 6 8 1")
    assert '[ -z "$alpha" ] || set_vegas "$alpha" "$beta" "$gamma"' in script
    assert "trap remove EXIT" in script


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_script_is_shell(shell, tmp_path):
    script = tmp_path / "test.sh"
    script.write_text(files(network())["test.sh"])
    subprocess.run([shell, "-n", script], check=True)


@pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck is not installed (Debian: shellcheck)")
def test_shellcheck_has_nothing_to_say(tmp_path):
    for name in ("weigle_feng_network1", "weigle_feng_network2_two_way"):
        model = modelfile.load(MODELS / f"{name}.toml")
        points = dict.fromkeys(model.network.flows, POINT)
        script = tmp_path / "test.sh"
        script.write_text(export_model(model, "netns", points=points).files["test.sh"])
        done = subprocess.run([str(SHELLCHECK), script], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", ["$(exit 3)", "`exit 3`", "a\nclass", 'a"; exit 3; "', "END"])
def test_names_stay_in_comments_and_in_the_plan(name):
    given = network()
    model = Model(
        replace(given, flows={name: given.flows["vegas"]}), duration=20, title=name, source=name
    )
    done = export_model(model, "netns").files
    plain = " ".join(name.split())
    lines = [line for line in done["test.sh"].splitlines() if plain in line and plain != "END"]
    assert all(line.startswith("# ") for line in lines)
    assert json.loads(done["plan.json"])["classes"] == [[plain, 1]]


def test_script_without_root_says_so(tmp_path):
    """As `nobody`, where the tests are root."""
    for name, text in files(network()).items():
        (tmp_path / name).write_text(text)
    fake = tmp_path / "id"
    fake.write_text("#!/bin/sh\necho 65534\n")
    fake.chmod(0o755)
    done = subprocess.run(
        ["sh", "test.sh"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "test.sh: it must be run as root\n"


# The program that sends


def test_attributes_of_a_netlink_message():
    """Two attributes, the first padded to four bytes: linux/netlink.h."""
    data = struct.pack("=HH3sx", 7, 1, b"red") + struct.pack("=HHI", 8, 2, 9)
    assert traffic.attributes(data) == {1: b"red", 2: struct.pack("=I", 9)}


def test_queue_is_read_from_the_kernels_answer():
    """A message of rtnetlink with gnet_stats_basic and gnet_stats_queue (linux/gen_stats.h)."""
    basic = struct.pack("=QI4x", 15140, 10)
    queue = struct.pack("=IIIII", 3, 4542, 2, 0, 0)
    nested = struct.pack("=HH", 4 + len(basic), traffic.BASIC) + basic
    nested += struct.pack("=HH", 4 + len(queue), traffic.QUEUE) + queue
    body = struct.pack("=BxxxiIII", 0, 5, 0x100000, 0x10001, 0)
    body += struct.pack("=HH4s", 8, 1, b"red\0")
    body += struct.pack("=HH", 4 + len(nested), traffic.STATS) + nested
    answer = struct.pack("=IHHII", 16 + len(body), 36, 0, 1, 0) + body
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link = traffic.LinkQueue.__new__(traffic.LinkQueue)
    link.name, link.index, link.socket = "bottleneck", 5, ours
    link.waiting, link.samples, link.before = 0, 0, (0, 0)
    with ours, kernel:
        for _ in range(2):
            kernel.send(answer)
        link.sample()
        assert link.line() == "link bottleneck queue_packets 3 drop_share 0.166667"
        question = kernel.recv(1000)
    assert struct.unpack("=IHHII", question[:16]) == (36, 38, 9, 1, 0)
    assert struct.unpack("=BxxxiIII", question[16:]) == (0, 5, 0, 0x10001, 0)


def test_start_times_are_given_or_random():
    assert traffic.start_time(1.5, random.Random(1)) == 1.5
    times = [traffic.start_time({"spread": 2.0}, random.Random(seed)) for seed in range(50)]
    assert 0 <= min(times) < 0.3 < 1.7 < max(times) <= 2
