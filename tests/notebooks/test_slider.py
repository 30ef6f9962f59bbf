"""Notebook 2 as its reader meets it: in JupyterLab, in Chromium, moving the sliders.

How long redraws take is written into `build/browser/` (or `$VEGASFLUID_ARTEFACTS`), with pictures
of the page; `benchmarks.slider` holds them to their target.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import vegasfluid as vf
from benchmarks.browser import BROWSERS, chromium
from benchmarks.slider.lab import jupyter_lab
from benchmarks.slider.notebook import network
from benchmarks.slider.page import Seen, SliderPage, opened
from tests.paths import ROOT
from vegasfluid.plot.alpha_beta_plane import HALVED_ONCE

pytestmark = pytest.mark.slow  # a notebook server and a browser

MODULES = ("jupyterlab", "ipywidgets", "ipykernel", "playwright")
ARTEFACTS = Path(os.environ.get("VEGASFLUID_ARTEFACTS") or ROOT / "build" / "browser")
MOVES = 20


def missing() -> str | None:
    """What has to be installed; None: nothing."""
    if absent := [name for name in MODULES if importlib.util.find_spec(name) is None]:
        return f"{', '.join(absent)} (`make test-long` installs them from requirements.lock)"
    if chromium() is None:
        return f"one of {', '.join(BROWSERS)} (on Debian: apt-get install chromium)"
    return None


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SliderPage]:
    """The notebook in the browser, run; one server and one page for all tests of this file."""
    if wanted := missing():
        say = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        say(f"the browser test needs {wanted}")
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    with (
        jupyter_lab(tmp_path_factory.mktemp("lab")) as lab,
        opened(lab, ARTEFACTS) as shown,
    ):
        yield shown


def ratio_at(alpha: float, beta: float) -> float:
    """The ratio of the notebook's network with the steps of its map, without its widgets."""
    there = network().with_law("vegas", vf.Vegas(alpha=alpha, beta=beta))
    run = vf.simulate_fluid(there, until=60, tolerance=HALVED_ONCE)
    return vf.metrics.goodput_ratio(run, "vegas")


def check(seen: Seen) -> None:
    """The text is of where the sliders stand, and states what the model does."""
    alpha, beta, ratio = seen.reading
    assert (alpha, beta) == seen.sliders
    assert ratio == pytest.approx(ratio_at(alpha, beta), rel=1e-6)
    assert all(picture.startswith(b"\x89PNG") for picture in seen.pictures)


def test_each_move_changes_both_pictures_and_the_ratio(page):
    before = page.seen()
    check(before)
    page.screenshot(ARTEFACTS / "slider.png")
    shown = [before]
    for _ in range(4):
        page.press("alpha", "ArrowRight")
        shown.append(page.seen())
    for old, new in pairwise(shown):
        assert new.sliders[0] == old.sliders[0] + 0.5
        assert new.reading[2] > old.reading[2]
        assert all(a != b for a, b in zip(old.pictures, new.pictures, strict=True))
    check(shown[-1])


def test_the_way_back_shows_what_was_there(page):
    page.step("beta", "End")
    page.step("alpha", "ArrowRight")  # axes are as high from here on as they have to be
    before = page.step("alpha", "ArrowLeft")
    check(before)
    assert page.step("alpha", "ArrowRight").pictures != before.pictures
    assert page.step("alpha", "ArrowLeft") == before


def test_dragging_one_slider_past_the_other_moves_both(page):
    seen = page.step("beta", "Home")
    assert seen.sliders[0] == seen.sliders[1] == 2.0
    check(seen)
    assert page.step("alpha", "ArrowRight").sliders == (2.5, 2.5)


def test_the_mouse_drags_a_slider_and_the_last_place_is_shown(page):
    before = page.seen()
    page.drag("beta", 60)
    seen = page.seen()
    assert seen.sliders[0] == before.sliders[0]
    assert seen.sliders[1] > before.sliders[1] + 2
    check(seen)


def test_many_moves_are_timed(page):
    before = page.seen()
    found = page.moves(MOVES)
    found.write(ARTEFACTS / "redraws.json")
    page.screenshot(ARTEFACTS / "slider_moved.png")
    after = page.seen()
    check(after)
    assert after.sliders[0] == before.sliders[0] + 0.5 * (MOVES + 3)
    assert len(found.times) == MOVES
    print(f"redraws: median {found.median:.0f} ms, 90th percentile {found.slow:.0f} ms")


def test_nothing_is_asked_of_other_machines(page):
    assert page.requests
    assert page.outside() == []
