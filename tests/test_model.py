"""A model is a network with a time to watch it; the times must make sense."""

from __future__ import annotations

import dataclasses

import pytest

from vegasfluid.congestion.reno import Reno
from vegasfluid.errors import InvalidInput
from vegasfluid.model import Model
from vegasfluid.network import Flows, Link, Network

NETWORK = Network(Link(1000.0, 100), {"reno": Flows(5, Reno(), base_rtt=0.04)})


def test_what_is_not_given_has_a_default() -> None:
    model = Model(NETWORK, duration=200)
    assert (model.warmup, model.title, model.source) == (0.0, "", "")


def test_models_are_values() -> None:
    model = Model(NETWORK, duration=200, warmup=50)
    assert model == Model(NETWORK, duration=200.0, warmup=50.0)
    assert dataclasses.replace(model, duration=100) != model
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.duration = 100  # type: ignore[misc]


@pytest.mark.parametrize(
    ("times", "line"),
    [
        ({"duration": 0.0}, "Model: duration must be above 0, but is 0.0."),
        ({"duration": float("nan")}, "Model: duration must be a finite number, but is nan."),
        ({"duration": 9.0, "warmup": -1.0}, "Model: warmup must be at least 0, but is -1.0."),
        ({"duration": 9.0, "warmup": 9.0}, "Model: warmup must be below duration (9), but is 9.0."),
    ],
)
def test_invalid_times_are_rejected(times: dict[str, float], line: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Model(NETWORK, **times)  # type: ignore[arg-type]
    assert str(error.value) == line
