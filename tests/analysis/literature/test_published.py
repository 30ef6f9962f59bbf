"""Published formulas at equilibria: the values that the papers print, and their conditions."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.paths import MODELS
from vegasfluid import modelfile
from vegasfluid.analysis import equilibrium
from vegasfluid.analysis.literature import PublishedValue, published_formulas
from vegasfluid.analysis.literature.assumptions import Path
from vegasfluid.analysis.literature.published import ClassState, formulas_of_class, red_min_over_n
from vegasfluid.aqm.red import Red
from vegasfluid.congestion.cubic import Cubic
from vegasfluid.congestion.highspeed import HighSpeed
from vegasfluid.congestion.reno import Reno
from vegasfluid.congestion.vegas import Vegas
from vegasfluid.network import Flows, Link, Network


def at(state: ClassState) -> dict[str, PublishedValue]:
    """The formulas for a class by name."""
    return {value.name: value for value in formulas_of_class(state)}


def class_state(law, cwnd: float, drop_prob: float, rtt: float = 0.1, **more) -> ClassState:
    """A class of one flow at equilibrium, without queueing delay."""
    path = Path(drop_prob, rtt, rto=4 * rtt)._replace(**more)
    return ClassState("one", Flows(1, law, base_rtt=rtt), cwnd, path, rtt, ())


@pytest.mark.parametrize(("network", "printed"), [(2, 134), (3, 89), (4, 89)])
def test_red_min_over_n_of_weigle_and_feng(network: int, printed: int) -> None:
    """Section 4.3: "about 134 packets here (6711/50)"; 8948/100, about 89, in the other two."""
    model = modelfile.read_model(str(MODELS / f"weigle_feng_network{network}.toml"))
    (rule,) = red_min_over_n(model.network, "vegas", fair_alpha=100.0)
    assert (round(rule.value), rule.model_value) == (printed, 100.0)
    assert (rule.source, rule.valid) == ("weigle2001", True)


def test_the_2084_round_trips_of_feng_and_tinnakornsrisuphap() -> None:
    """Section 6: a window of 50 Mb in packets of 1500 bytes."""
    recovery = at(class_state(Reno(), 50e6 / 12e3, 1e-7))["recovery of one"]
    assert math.ceil(recovery.value) == 2084
    assert recovery.model_value == pytest.approx(recovery.value, rel=1e-9)
    delayed = at(class_state(Reno(), 100.0, 1e-4, ack_every=2.0))["recovery of one"]
    assert delayed.violated == ("delayed ACKs slow the growth",)


def test_windows_of_the_rfcs() -> None:
    """RFC 9438, table 1, and RFC 3649, table 3."""
    cubic = at(class_state(Cubic(), 6000.0, 1e-6))["window of one"]
    assert (round(cubic.value), cubic.model_value, cubic.valid) == (5926, 6000.0, True)
    friendly = at(class_state(Cubic(), 40.0, 1e-3))["window of one"]
    assert "Reno-friendly region" in friendly.violated[0]
    highspeed = at(class_state(HighSpeed(), 1800.0, 1e-5))["window of one"]
    assert (int(highspeed.value), highspeed.valid) == (1795, True)
    assert not at(class_state(HighSpeed(), 10.0, 1e-2))["window of one"].valid


def test_reno_against_vegas_over_red() -> None:
    """Mean-field theory has c = sqrt(2) where Mathis has sqrt(3/2)."""
    flows = {
        "reno": Flows(5, Reno(), base_rtt=0.1),
        "vegas": Flows(5, Vegas(alpha=2, beta=2), base_rtt=0.1),
    }
    network = Network(Link(2000.0, 800, Red(100, 300, max_drop=0.01)), flows)
    formulas = {value.name: value for value in published_formulas(equilibrium(network))}
    mathis = formulas["rate of reno, no timeouts"]
    assert mathis.model_value / mathis.value == pytest.approx(math.sqrt(4 / 3), rel=1e-6)
    assert mathis.valid
    vegas = formulas["rate of vegas, no losses"]
    assert vegas.model_value == pytest.approx(vegas.value, rel=0.2)
    assert vegas.violated[0].endswith("above 0: losses reduce windows")


@pytest.mark.slow
@pytest.mark.unoptimised
def test_vegas_without_losses_sends_alpha_over_the_queueing_delay() -> None:
    """The formula has no whole-packet step, which adds half a packet to alpha."""
    network = Network(
        Link(1000.0, 500), {"vegas": Flows(3, Vegas(alpha=2, beta=4), base_rtt=(0.1, 0.1, 0.2))}
    )
    (vegas,) = published_formulas(equilibrium(network))
    assert vegas.violated == ("flows have different round-trip times: evaluated at their mean",)
    alike = replace(network.flows["vegas"], base_rtt=0.1)
    (vegas,) = published_formulas(equilibrium(replace(network, flows={"vegas": alike})))
    assert (vegas.source, vegas.valid) == ("low2001", True)
    assert alike.law.equilibrium_backlogs[0] == 2.5
    assert vegas.value / vegas.model_value == pytest.approx(2 / 2.5, rel=1e-6)
    linux = replace(alike, law=Vegas(alpha=2, beta=4, dialect="linux"))
    (vegas,) = published_formulas(equilibrium(replace(network, flows={"vegas": linux})))
    assert not vegas.valid
