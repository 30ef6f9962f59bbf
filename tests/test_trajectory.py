"""What a trajectory is made of: labels, class means, units; and that it survives a file."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vegasfluid import Flows, Link, Network, Reno
from vegasfluid.trajectory import (
    CLASS_VARIABLES,
    CWND_VARIANCE,
    LINK_VARIABLES,
    Recording,
    class_means,
    make_trajectory,
    package_version,
)

NETWORK = Network(
    Link(1000.0, 100),
    {"two": Flows(2, Reno(), base_rtt=0.04), "three": Flows(3, Reno(), base_rtt=0.02)},
)
TIMES = np.array([0.0, 1.0, 2.0])


@pytest.fixture
def run() -> xr.Dataset:
    """Flow f at time t has 10 t + f of everything; the link has 100 t."""
    values = 10 * TIMES[:, None] + np.arange(5)
    flows = {name: values.copy() for name in CLASS_VARIABLES}
    links = {name: 100 * TIMES[:, None] for name in LINK_VARIABLES if name != "capacity"}
    return make_trajectory(
        Recording(NETWORK, TIMES, flows, links), {"engine": "by hand", "warmup": 1.0}
    )


def test_class_means_by_hand():
    values = np.array([[1.0, 3.0, 5.0, 6.0, 7.0], [0.0, 0.0, 1.0, 1.0, 4.0]])
    np.testing.assert_array_equal(class_means([2, 3], values), [[2, 6], [0, 2]])
    np.testing.assert_array_equal(class_means([1, 1, 3], values), [[1, 3, 6], [0, 0, 2]])
    np.testing.assert_array_equal(class_means([5], values), [[22 / 5], [6 / 5]])


def test_means_of_classes_and_sums_of_timeouts(run):
    for name in set(CLASS_VARIABLES) - {"cwnd_spread"}:
        assert run[name].dims == ("time", "flow_class")
        mean = 10 * TIMES[:, None] + [0.5, 3.0]
        expected = mean * [2, 3] if name == "timeouts" else mean
        np.testing.assert_allclose(run[name], expected)


def test_the_spread_of_windows_is_that_between_flows_and_within(run):
    """Windows of f, f + 1, ... apart: 1/4 and 2/3; a variance of 2 in each adds to that."""
    between = np.sqrt([1 / 4, 2 / 3])
    np.testing.assert_allclose(run["cwnd_spread"], np.tile(between, (3, 1)), rtol=1e-9)
    values = 10 * TIMES[:, None] + np.arange(5)
    flows = {name: values.copy() for name in CLASS_VARIABLES} | {CWND_VARIANCE: 0 * values + 2.0}
    links = {name: 100 * TIMES[:, None] for name in LINK_VARIABLES if name != "capacity"}
    data = make_trajectory(Recording(NETWORK, TIMES, flows, links), {})
    np.testing.assert_allclose(data["cwnd_spread"], np.tile(np.sqrt(between**2 + 2), (3, 1)))
    assert CWND_VARIANCE not in data


def test_labels(run):
    assert run["flow_class"].values.tolist() == ["two", "three"]
    assert run["count"].values.tolist() == [2, 3]
    assert run["class_of_flow"].values.tolist() == ["two", "two", "three", "three", "three"]
    assert run["link"].values.tolist() == ["bottleneck"]
    assert run["capacity"].values.tolist() == [1000.0]
    assert run["queue"].dims == ("time", "link")
    np.testing.assert_array_equal(run["flow_delivered"], 10 * TIMES[:, None] + np.arange(5))


def test_every_variable_has_a_description_and_a_unit(run):
    for name in [*run.data_vars, "time"]:
        assert run[name].attrs["units"]
        assert run[name].attrs["long_name"]
    assert run["rtt"].attrs["units"] == "s"
    assert run["queue"].attrs["units"] == "packets"
    assert run.attrs == {
        "vegasfluid_version": package_version(),
        "packet_bytes": 1500,
        "engine": "by hand",
        "warmup": 1.0,
    }


def test_making_one_does_not_change_the_tables_of_variables(run):
    assert "time" not in CLASS_VARIABLES
    assert "flow_delivered" not in CLASS_VARIABLES | LINK_VARIABLES


def test_saved_and_read_again(run, tmp_path):
    run.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "run.nc") as saved:
        xr.testing.assert_identical(saved.load(), run)
