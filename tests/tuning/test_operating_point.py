"""Where flows are: the packets' operating point against the fluid model's, and theory's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vegasfluid as vf
from vegasfluid import modelfile
from vegasfluid.errors import InvalidInput
from vegasfluid.export import export_model, translate
from vegasfluid.model import Model
from vegasfluid.tuning import operating_points
from vegasfluid.tuning.operating_point import engine_of_points

LINK = vf.Link(vf.mbps(20), 300, vf.Red(min_thresh=30, max_thresh=150, max_drop=0.1))
NETWORK = vf.Network(
    LINK,
    {
        "reno": vf.Flows(10, vf.Reno(), base_rtt=vf.ms(40)),
        "vegas": vf.Flows(10, vf.Vegas(6, 8, dialect="linux"), base_rtt=vf.ms(60), start=5.0),
    },
)
MODEL = Model(NETWORK, duration=80, warmup=30)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_points_are_where_the_fluid_model_is():
    result = operating_points(MODEL)
    run = vf.simulate_fluid(NETWORK, 80, warmup=30)
    after = run.sel(time=slice(30, None))
    assert list(result) == ["reno", "vegas"]
    lost = float(vf.metrics.drop_share(run)[0])
    for number, (name, point) in enumerate(result.items()):
        rtt = float(after["rtt"][:, number].mean())
        assert point.rtt_over_base == pytest.approx(rtt / NETWORK.mean_base_rtt(name), rel=0.15)
        assert point.cwnd == pytest.approx(float(after["cwnd"][:, number].mean()), rel=0.25)
        assert point.drop_prob == pytest.approx(lost, rel=0.4)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_several_links_add_up():
    """The link at the end has more than enough capacity, and a Vegas flow from elsewhere."""
    links = {"a": LINK, "b": LINK, "end": vf.Link(5e3, 50)}
    flows = {"long": replace(NETWORK.flows["reno"], path=("a", "b", "end"))}
    flows |= {name: replace(NETWORK.flows["reno"], path=(name,)) for name in ("a", "b")}
    flows["vegas"] = vf.Flows(1, vf.Vegas(), base_rtt=vf.ms(40), path=("end",))
    result = operating_points(Model(vf.Network(links, flows), duration=60, warmup=20))
    a, b = (
        result[name].drop_prob for name in ("a", "b")
    )  # of some 1000 drops each, so 3 % of chance
    assert a == pytest.approx(b, rel=0.1)
    assert result["long"].drop_prob == pytest.approx(a + b, rel=0.02)
    excess = {name: point.rtt_over_base - 1 for name, point in result.items()}
    assert excess["long"] == pytest.approx(2 * excess["a"], rel=0.1)


@pytest.mark.slow
@pytest.mark.unoptimised
def test_drops_are_those_of_the_direction_of_the_data():
    """With both directions exchanged the network is the same, seen from its other end."""
    many, few = NETWORK.flows["reno"], vf.Flows(1, vf.Reno(), base_rtt=vf.ms(40))
    ends = [
        {"many": replace(many, direction=one), "few": replace(few, direction=other)}
        for one, other in (("forward", "reverse"), ("reverse", "forward"))
    ]
    points = [
        operating_points(Model(vf.Network(LINK, flows), duration=60, warmup=20)) for flows in ends
    ]
    for point in points:
        assert point["many"].drop_prob > 0.005
        assert point["few"].drop_prob < 0.002
    assert points[1]["many"].drop_prob == pytest.approx(points[0]["many"].drop_prob, rel=0.1)


def test_only_classes_that_were_asked_for():
    assert list(operating_points(MODEL, ["vegas"])) == ["vegas"]
    assert all(np.isfinite(list(vars(operating_points(MODEL, ["vegas"])["vegas"]).values())))


def test_a_class_that_never_starts_is_rejected():
    late = replace(NETWORK.flows["vegas"], start=90.0)
    network = replace(NETWORK, flows={**NETWORK.flows, "vegas": late})
    with pytest.raises(InvalidInput, match=r"flows.vegas: start must be below the simulated time"):
        operating_points(Model(network, duration=80), ["vegas"])


def test_too_many_packets_are_left_to_the_fluid_model():
    """622 Gbit/s: each of N flows holds alpha packets in the queue, W = alpha + C T / N.

    A run by packets would have 2e9 of them.
    """
    count, alpha, capacity, rtt = 3_000, 10, vf.mbps(622_000), vf.ms(40)
    flows = {"vegas": vf.Flows(count, vf.Vegas(alpha, alpha), base_rtt=rtt)}
    model = Model(vf.Network(vf.Link(capacity, 4_000_000), flows), duration=40, warmup=20)
    result = operating_points(model)["vegas"]
    assert result.rtt_over_base == pytest.approx(1 + count * alpha / (capacity * rtt), rel=1e-5)
    assert result.cwnd == pytest.approx(alpha + capacity * rtt / count, rel=1e-5)
    assert result.drop_prob == 0.0
    files = export_model(model, "linux", points={"vegas": result}).files
    assert "by the fluid model" in " ".join(files["tcp_vegas.conf"].replace("#", "").split())
    shorter = replace(model, duration=0.1, warmup=0.05)
    assert [engine_of_points(one) for one in (model, shorter, MODEL)] == ["fluid", *["packets"] * 2]


def test_linux_can_follow_what_is_recommended_on_network_2():
    """At the fluid's loss ratio, half as high again, it would count as one that cannot."""
    model = modelfile.read_model("weigle_feng_network2")
    law = vf.Vegas(142, 144, dialect="ns2")  # by `recommend`, which reports Linux's alpha, too
    tuned = replace(model, network=model.network.with_law("vegas", law))
    settings, missing = translate(law, operating_points(tuned, ["vegas"])["vegas"])
    assert missing == {}
    assert settings["linux"]["alpha"] == pytest.approx(9913, rel=0.01)
