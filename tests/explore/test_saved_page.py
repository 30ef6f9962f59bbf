"""The page with saved runs: what it holds is what the library computes, and it is one safe file."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import vegasfluid as vf
from tests.cli.commands import SMALL
from vegasfluid.explore import recording as module
from vegasfluid.explore.fluid_runs import fluid_run
from vegasfluid.explore.recording import SAMPLES, plane_numbers, recording
from vegasfluid.explore.single_file import page_with_runs
from vegasfluid.modelfile import loads
from vegasfluid.modelfile.parameters import with_values

MODEL = loads(SMALL)
HOSTILE = "</script><script>document.title = 'taken'</script><!--"


class Quick:
    """Recommends 5 and 9 at once, and gives no reasons."""

    def __init__(self, worker):
        pass

    def recommend(self, model, tuned, ticket):
        yield {"progress": "fluid"}
        yield {"recommended": {"tuned": "vegas", "alpha": 5.0, "beta": 9.0}}

    def why(self, model, ticket):
        yield {
            "why": {
                "alpha": 5.0,
                "terms": [("buffer", 6.0), ("own losses", -1.0)],
                "lines": ["Theory."],
                "rules": [["given", 1, 3, 0.2, 0.1, 0.3, 0.7, 0.01]],
                "measured": ["Measured."],
            }
        }


class Refusing(Quick):
    """Cannot recommend anything."""

    def recommend(self, model, tuned, ticket):
        yield {"progress": "fluid"}
        raise vf.InvalidInput("recommend", "tune", "a Vegas class", "none")


@pytest.fixture(scope="module")
def saved(module_patches):
    """A recording with four points, with a recommendation that takes no time."""
    module_patches.setattr(module, "Recommendations", Quick)
    module_patches.setattr(module, "packet_runs", lambda model, _: iter([{"confirmed": {}}]))
    model = replace(MODEL, title=HOSTILE)
    return recording({"small.toml": model}, lambda line: None, count=2)


@pytest.fixture(scope="module")
def module_patches():
    with pytest.MonkeyPatch.context() as patches:
        yield patches


@pytest.mark.slow
@pytest.mark.unoptimised
def test_each_run_is_that_of_its_setting(saved):
    [network] = saved["networks"]
    alphas, betas = network["plane"][0]["x"], network["plane"][0]["y"]
    corners = {(alpha, beta) for alpha in alphas for beta in betas if alpha <= beta}
    law = MODEL.network.flows["vegas"].law
    assert isinstance(law, vf.Vegas)
    given = (law.alpha, law.beta)
    assert [run["at"] for run in network["runs"][:2]] == [given, (5.0, 9.0)]
    assert {run["at"] for run in network["runs"]} == corners | {given, (5.0, 9.0)}
    for run in network["runs"]:
        names = ("vegas.alpha_packets", "vegas.beta_packets")
        changed = with_values(MODEL.network, dict(zip(names, run["at"], strict=True)))
        trajectory = vf.simulate_fluid(
            changed, MODEL.duration, samples=SAMPLES, warmup=MODEL.warmup, tolerance=None
        )
        assert run["ratio"] == pytest.approx(vf.metrics.goodput_ratio(trajectory, "vegas"), 1e-5)
        assert loads(run["text"]).network == changed


def test_samples_are_within_half_a_level_up_to_their_top(saved):
    [network] = saved["networks"]
    run, series = network["runs"][0], network["series"]
    wanted = fluid_run(MODEL, None, accurate=False, samples=SAMPLES)["series"]
    levels = np.frombuffer(base64.b64decode(run["samples"]), np.uint8)
    lengths = {"goodput_mbps": SAMPLES - 1}
    for course, top in zip(("cwnd", "goodput_mbps", "rtt_ms", "queue"), run["tops"], strict=True):
        for name in series[course]:
            stored, levels = np.split(levels, [lengths.get(course, SAMPLES)])
            exact = np.minimum(wanted[course][name], top)
            np.testing.assert_allclose(stored * top / 255, exact, rtol=0, atol=0.51 * top / 255)
    assert levels.size == 0
    assert series["time"] == wanted["time"]


def test_a_failed_recommendation_is_saved_with_its_reason(monkeypatch):
    monkeypatch.setattr(module, "Recommendations", Refusing)
    monkeypatch.setattr(module, "packet_runs", lambda model, _: iter([{"confirmed": {}}]))
    monkeypatch.setattr(module, "fluid_runs", lambda *_: iter([{"at": (2.0, 4.0), "series": {}}]))
    monkeypatch.setattr(
        module,
        "plane",
        lambda *_: iter([{"x": [1, 15], "y": [1, 15], "valid": [(0, 0), (0, 1), (1, 1)]}]),
    )
    [network] = recording({"small": MODEL}, lambda line: None, count=2)["networks"]
    assert "tune" in network["recommend"][-1]["errors"][0]["message"]
    assert [one["at"] for one in network["packets"]] == [network["runs"][0]["at"]]


def test_the_axes_are_alpha_and_beta_of_the_first_vegas_class_or_the_first_numbers():
    names = ["reno.gain", "a.alpha_packets", "b.alpha_packets", "b.beta_packets"]
    numbers = [{"name": name} for name in names]
    assert [one["name"] for one in plane_numbers(numbers)] == ["b.alpha_packets", "b.beta_packets"]
    assert plane_numbers(numbers[:2]) == numbers[:2]


def test_what_json_does_not_have_is_null():
    """One class has no ratio (NaN), and that of a class with everything is infinite."""
    points = [[0, 0, math.nan, 1.0], [0, 1, math.inf, 0.5]]
    page = page_with_runs({"networks": [{"plane": [{"points": points}], "notes": ("<b>",)}]})
    data = page.split('id="saved-runs">')[1].split("</script>")[0]
    assert json.loads(data) == {
        "networks": [
            {"plane": [{"points": [[0, 0, None, 1], [0, 1, None, 0.5]]}], "notes": ["<b>"]}
        ]
    }


@pytest.mark.parametrize(
    ("tuned", "text"),
    [("vegas", "goodput of a vegas flow / another flow"), (None, "one class: no ratio")],
)
def test_a_run_without_a_ratio_says_why_only_with_one_class(browser, saved, tmp_path, tuned, text):
    """The ratio of a class that has all of the goodput is infinite, null in JSON, too."""
    network = saved["networks"][0]
    runs = [run | {"ratio": math.inf, "tuned": tuned} for run in network["runs"]]
    path = tmp_path / "page.html"
    changed = saved | {"networks": [network | {"runs": runs}]}
    path.write_text(page_with_runs(changed), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#outcome[data-ratio]")
    assert page.inner_text("#ratio") == "\u2013"
    assert page.inner_text("#ratio-name") == text
    page.close()


def test_the_file_loads_nothing_and_a_title_is_only_text(browser, saved, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page_with_runs(saved), encoding="utf-8")
    page = browser.new_page()
    errors, requests = [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda one: errors.append(one.text) if one.type == "error" else None)
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#outcome[data-ratio]")
    assert page.inner_text("#title") == HOSTILE
    assert page.title() == "vegasfluid explore"
    ratio = float(page.get_attribute("#outcome", "data-ratio"))
    assert ratio == saved["networks"][0]["runs"][0]["ratio"]
    page.click("#recommend")
    page.wait_for_function(f"() => document.getElementById('outcome').dataset.ratio !== '{ratio}'")
    page.wait_for_selector("#recommend:not([disabled])")
    ratio = float(page.get_attribute("#outcome", "data-ratio"))
    assert ratio == saved["networks"][0]["runs"][1]["ratio"]
    page.click("#why")
    page.wait_for_selector("#why-dialog[open]")
    assert page.inner_text("#why-terms tr:nth-child(2)").split("\t") == ["own losses", "\u22121.00"]
    assert "0.2 (0.1 to 0.3)" in page.inner_text("#why-rules")
    page.click("#why-close")
    page.wait_for_function("() => location.hash.length > 1")
    page.reload()  # the address has the setting
    page.wait_for_selector("#outcome[data-ratio]")
    assert float(page.get_attribute("#outcome", "data-ratio")) == ratio
    assert page.is_hidden("#form")
    assert page.is_hidden("#open")
    page.close()
    assert {url.split("#")[0] for url in requests if not url.startswith("data:")} == {path.as_uri()}
    assert errors == []
