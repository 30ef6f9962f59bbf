"""The sliders without a browser (with one: `tests/browser`)."""

from __future__ import annotations

import io
import sys
from functools import cache

import numpy as np
import pytest
from PIL import Image

import vegasfluid as vf
from vegasfluid.errors import InvalidInput, VegasfluidError
from vegasfluid.plot.explorer import Explorer

LOWEST, HIGHEST = 2.0, 22.0


def network(**laws: object) -> vf.Network:
    given = laws or {"vegas": vf.Vegas(alpha=4, beta=6), "reno": vf.Reno()}
    flows = {name: vf.Flows(5, law, base_rtt=vf.ms(100)) for name, law in given.items()}
    return vf.Network(vf.Link(vf.mbps(20), buffer=150), flows)


@cache
def shown() -> Explorer:
    """One for all tests; made inside the first, which states how programs are compiled."""
    return vf.plot.explore(network(), until=20, packets=(LOWEST, HIGHEST), points=3)


@pytest.fixture
def explorer() -> Explorer:
    """Where it began."""
    shown().alpha.value, shown().beta.value = 4.0, 6.0
    return shown()


def test_it_begins_with_the_numbers_of_the_network(explorer):
    assert explorer.reading[:2] == (4.0, 6.0)
    assert explorer.network == network()


@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 22.0), (9.5, 9.5), (12.0, 15.0)])
def test_the_reading_is_that_of_the_run_at_the_point(explorer, alpha, beta):
    explorer.beta.value = beta
    explorer.alpha.value = alpha
    law = vf.Vegas(alpha=alpha, beta=beta)
    run = vf.simulate_fluid(network().with_law("vegas", law), until=20, tolerance=1.0)
    assert explorer.run.equals(run)
    found = explorer.reading
    assert found.ratio == pytest.approx(vf.metrics.goodput_ratio(run, "vegas"))
    assert found.queueing_delay == pytest.approx(float(vf.metrics.queueing_delay(run)[0]))
    assert found.utilisation == pytest.approx(float(vf.metrics.utilisation(run)[0]))
    about_steps = [line for line in found.warnings if "the tolerance of 1 %" in line]
    assert bool(about_steps) == (max(run.attrs["error_estimate"]) > 0.01)
    assert [*about_steps, *run.attrs["warnings"].splitlines()] == list(found.warnings)
    assert f"ratio {found.ratio:.3f}" in str(found)


def test_the_map_has_the_ratio_of_the_single_runs_and_nothing_below_alpha(explorer):
    assert explorer.map["ratio"].isnull().sum() == 3
    for alpha, beta in [(2.0, 12.0), (12.0, 22.0), (22.0, 22.0)]:
        explorer.beta.value = beta
        explorer.alpha.value = alpha
        of_map = float(explorer.map["ratio"].sel(alpha=alpha, beta=beta).squeeze())
        assert explorer.reading.ratio == pytest.approx(of_map, rel=1e-9)


def test_beta_is_never_below_alpha(explorer):
    explorer.alpha.value = 10.0
    assert (explorer.alpha.value, explorer.beta.value) == (10.0, 10.0)
    explorer.beta.value = 5.0
    assert (explorer.alpha.value, explorer.beta.value) == (5.0, 5.0)
    assert explorer.reading[:2] == (5.0, 5.0)


def pictures(explorer: Explorer) -> list[np.ndarray]:
    found = [child.value for child in explorer.widget.children[1].children]
    return [np.asarray(Image.open(io.BytesIO(item)), int) for item in found]


def test_a_move_to_the_right_moves_the_mark_to_the_right_and_nothing_else_in_the_map(explorer):
    explorer.beta.value = 22.0
    explorer.alpha.value = 8.0
    _, left = pictures(explorer)
    explorer.alpha.value = 14.0
    _, right = pictures(explorer)
    columns = np.flatnonzero(np.any(left != right, axis=(0, 2)))
    middle = (columns[0] + columns[-1]) // 2
    assert 0.1 < np.mean(columns < middle) < 0.9
    assert np.isin(np.arange(middle - 10, middle + 10), columns).sum() == 0


def test_the_way_back_draws_the_same_pictures(explorer):
    before = pictures(explorer)
    explorer.alpha.value = 5.5
    assert all(np.any(a != b) for a, b in zip(before, pictures(explorer), strict=True))
    explorer.alpha.value = 4.0
    assert all(np.array_equal(a, b) for a, b in zip(before, pictures(explorer), strict=True))


def test_the_figure_shows_the_values_of_the_sliders_or_given_ones(explorer):
    figure = explorer.picture()
    assert figure.get_suptitle() == str(explorer.reading)
    other = explorer.picture(alpha=9.5, beta=12.0)
    explorer.beta.value = 12.0
    explorer.alpha.value = 9.5
    assert other.get_suptitle() == str(explorer.reading) != figure.get_suptitle()
    windows = other.axes[0].get_lines()
    for name, line in zip(["vegas", "reno"], windows, strict=True):
        np.testing.assert_allclose(line.get_ydata(), explorer.run["cwnd"].sel(flow_class=name))


def test_it_is_shown_as_a_widget_with_the_reading_for_those_who_cannot(explorer):
    bundle = explorer._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert bundle["text/plain"] == str(explorer.reading)


def test_without_ipywidgets_one_line_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(VegasfluidError, match=r"pip install 'vegasfluid\[notebooks\]'"):
        vf.plot.explore(network(), until=20, packets=(2, 22))


@pytest.mark.parametrize(
    ("laws", "options", "message"),
    [
        ({}, {"packets": (5, 2)}, "the lower first"),
        ({}, {"packets": (2, 22), "tuned": "reno"}, "vegas"),
        ({}, {"packets": (2, 22), "tuned": "nobody"}, "vegas"),
        ({"vegas": vf.Vegas()}, {"packets": (2, 22)}, "that competes with another"),
        ({"reno": vf.Reno(), "cubic": vf.Cubic()}, {"packets": (2, 22)}, "none here"),
        ({}, {"packets": (2, 22), "warmup": 30}, "below 20"),
    ],
)
def test_bad_input_is_rejected(laws, options, message):
    with pytest.raises(InvalidInput, match=message):
        vf.plot.explore(network(**laws), until=20, **options)
