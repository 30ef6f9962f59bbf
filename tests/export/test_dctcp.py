"""DCTCP in files for Linux, FreeBSD and ns-3: parameters as their sources name them."""

from __future__ import annotations

import pytest

import vegasfluid as vf
from vegasfluid.errors import InvalidInput
from vegasfluid.export import Exported, export_model
from vegasfluid.model import Model


def exported(name: str, law: vf.Dctcp) -> Exported:
    flows = {"fast": vf.Flows(2, law, base_rtt=vf.ms(20))}
    red = vf.Red(30, 90, ecn=True)
    link = vf.Link(vf.mbps(10), 200, red, delay=0.0047)
    return export_model(Model(vf.Network(link, flows), duration=20), name)


def test_linux_gets_the_shift_and_alpha_in_1024ths() -> None:
    text = exported("linux", vf.Dctcp(gain=1 / 32, initial_alpha=0.5)).files["tune.sh"]
    folder = "/sys/module/tcp_dctcp/parameters"
    for line in (
        "modprobe tcp_dctcp",
        f"echo 5 > {folder}/dctcp_shift_g",
        f"echo 512 > {folder}/dctcp_alpha_on_init",
        "sysctl -w net.ipv4.tcp_congestion_control=dctcp",
    ):
        assert f"{line}\n" in text
    assert "Receivers need DCTCP, too" in text


def test_freebsd_gets_the_shift_and_alpha_in_1024ths() -> None:
    text = exported("freebsd", vf.Dctcp()).files["tune.sh"]
    for line in (
        "kldload -n cc_dctcp",
        "sysctl net.inet.tcp.ecn.enable=1",
        "sysctl net.inet.tcp.cc.dctcp.shift_g=4",
        "sysctl net.inet.tcp.cc.dctcp.alpha=1024",
        "sysctl net.inet.tcp.cc.algorithm=dctcp",
    ):
        assert f"{line}\n" in text


def test_ns3_gets_every_number_at_both_ends() -> None:
    files = exported("ns3", vf.Dctcp(gain=0.1, initial_alpha=0.25)).files
    for attribute in ("DctcpShiftG 0.1", "DctcpAlphaOnInit 0.25"):
        assert f"ns3::TcpDctcp::{attribute}\n" in files["attributes.txt"]
    assert "destination.GetId()" in files["scenario.py"]


def test_the_test_of_the_kernel_has_it_at_both_ends() -> None:
    files = exported("netns", vf.Dctcp()).files
    assert '"control": "dctcp"' in files["plan.json"]
    assert 'TCP_CONGESTION, b"dctcp"' in files["traffic.py"]


@pytest.mark.parametrize(
    ("name", "law", "message"),
    [
        ("linux", vf.Dctcp(gain=0.1), "law.gain must be a power of two from 1/1024 to 1 for Linux"),
        ("freebsd", vf.Dctcp(gain=2**-11), "law.gain must be a power of two from 1/1024 to 1 for"),
        ("netns", vf.Dctcp(gain=1 / 8), "law.gain must be 0.0625 for Linux, but is 0.125"),
        ("ns2", vf.Dctcp(), "flows.fast: law must be one that ns-2 has"),
    ],
)
def test_what_a_system_does_not_have_is_refused(name: str, law: vf.Dctcp, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        exported(name, law)
