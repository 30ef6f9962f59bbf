"""Notebook 2 in Chromium: run it, move its sliders, and measure the time until it is redrawn."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.browser import launched
from benchmarks.harness import machine
from benchmarks.slider.lab import Lab, LabFailed
from benchmarks.slider.notebook import NOTEBOOK

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

__all__ = ["Redraws", "Seen", "SliderPage", "opened"]

PATIENCE = 300_000
"""Timeout of all steps, ms; models are compiled, possibly beside other work."""
REDRAWING = 60_000
"""Timeout of a redraw, ms."""
SIZE: ViewportSize = {"width": 1280, "height": 1000}
"""Size of the page, pixels."""
READY = "Python 3 | Idle"
"""JupyterLab's status line of an idle kernel; one that starts has no such line yet."""

WATCH = """
patience => {
  const images = [...document.querySelectorAll('img.widget-image')];
  const said = document.querySelector('[role=status][data-ratio]').closest('.widget-html');
  const loaded = image => new Promise(done => {
    image.addEventListener('load', () => image.decode().then(done), {once: true});
  });
  const changed = new Promise(done => {
    const observer = new MutationObserver(() => { observer.disconnect(); done(); });
    observer.observe(said, {childList: true, subtree: true, attributes: true});
  });
  const began = new Promise(done => {
    document.addEventListener('keydown', () => done(performance.now()),
                              {once: true, capture: true});
  });
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const seen = Promise.all([began, changed, ...images.map(loaded)]).then(async ([since]) => {
    await frame();
    await frame();
    return performance.now() - since;
  });
  const late = new Promise((_, refuse) => {
    setTimeout(() => refuse(new Error('the text or a picture did not change')), patience);
  });
  window.redrawn = Promise.race([seen, late]);
}
"""
"""JavaScript that measures from a key press to the frame after both new pictures are shown, ms."""
BYTES = """
image => fetch(image.src).then(found => found.blob()).then(blob => new Promise(done => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(',')[1]);
  reader.readAsDataURL(blob);
}))
"""
"""JavaScript that returns an image in base64."""
UP_TO_DATE = """
() => {
  const said = document.querySelector('[role=status][data-ratio]').dataset;
  const shown = [...document.querySelectorAll('.widget-slider .widget-readout')];
  const [alpha, beta] = shown.map(readout => Number(readout.innerText));
  return Number(said.alpha) === alpha && Number(said.beta) === beta;
}
"""
"""JavaScript that tests whether the text belongs to both sliders; one slider may move the other."""
COMPLETE = """
() => {
  const images = [...document.querySelectorAll('img.widget-image')];
  return images.length === 2 && images.every(image => image.complete && image.naturalWidth > 0);
}
"""
"""JavaScript that tests whether both pictures are loaded."""

ALL_RUN = r"""
() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
  .every(prompt => /\[\d+\]/.test(prompt.textContent))
"""
"""JavaScript that tests whether all cells have run."""


class Seen(NamedTuple):
    """Content of the page.

    Args:
        sliders: alpha and beta from the numbers at the sliders, packets.
        reading: alpha, beta (packets) and ratio from the text.
        pictures: pictures of the run and of the map, PNG.
    """

    sliders: tuple[float, float]
    reading: tuple[float, float, float]
    pictures: tuple[bytes, ...]


class Redraws(NamedTuple):
    """Durations of redraws.

    Args:
        times: duration after each move, ms.
        load: load average of the last minute.
    """

    times: tuple[float, ...]
    load: float

    @property
    def median(self) -> float:
        """Median, ms."""
        return float(np.median(self.times))

    @property
    def slow(self) -> float:
        """90th percentile, ms."""
        return float(np.percentile(self.times, 90))

    def write(self, file: Path) -> None:
        """Write the durations as JSON, with a description of the machine."""
        figures = {"median_ms": self.median, "percentile_90_ms": self.slow, "times_ms": self.times}
        content = {**figures, "load_average": self.load, "machine": machine()}
        file.write_text(json.dumps(content, indent=2) + "\n")


class SliderPage:
    """The notebook on a page, with all cells run.

    Args:
        page: page of playwright.
    """

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))

    def open_and_run(self, lab: Lab) -> None:
        """Open the notebook, run all cells by the menu, and wait until all have finished."""
        self.page.goto(lab.page(NOTEBOOK))
        self.page.locator(".jp-StatusBar-TextItem", has_text=READY).wait_for()
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function(COMPLETE)
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        """Wait until all cells have finished."""
        self.page.wait_for_function(ALL_RUN)
        self.page.locator(".jp-StatusBar-TextItem", has_text=READY).wait_for()

    def handle(self, name: str) -> Any:
        """Return the handle of the slider of alpha or of beta."""
        slider = self.page.locator(".widget-slider").filter(has_text=name)
        return slider.locator(".noUi-handle")

    def outside(self) -> list[str]:
        """Return the requests to other machines."""
        here = ("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:")
        return [url for url in self.requests if not url.startswith(here)]

    def seen(self) -> Seen:
        """Return the page's content once the text has followed the sliders."""
        self.page.wait_for_function(UP_TO_DATE)
        self.page.wait_for_function(COMPLETE)
        sliders = self.values()
        text = self.page.locator("[role=status][data-ratio]")
        reading = (float(text.get_attribute(f"data-{item}")) for item in ("alpha", "beta", "ratio"))
        images = self.page.locator("img.widget-image").all()
        pictures = tuple(base64.b64decode(image.evaluate(BYTES)) for image in images)
        return Seen(sliders, tuple(reading), pictures)  # type: ignore[arg-type]

    def values(self) -> tuple[float, float]:
        """Return alpha and beta from the numbers at the sliders, packets."""
        texts = self.page.locator(".widget-slider .widget-readout").all_inner_texts()
        alpha, beta = map(float, texts)
        return alpha, beta

    def press(self, name: str, key: str) -> float:
        """Press a key on a slider, for a move that changes both pictures.

        Returns:
            Time until both are shown, ms.
        """
        self.handle(name).focus()
        self.page.evaluate(WATCH, REDRAWING)
        self.page.keyboard.press(key)
        return float(self.page.evaluate("() => window.redrawn"))

    def step(self, name: str, key: str) -> Seen:
        """Press a key on a slider; return the content, whether or not pictures changed."""
        self.handle(name).focus()
        self.page.keyboard.press(key)
        return self.seen()

    def moves(self, count: int, unmeasured: int = 3) -> Redraws:
        """Move alpha to the right step by step; return the durations without the first ones."""
        times = [self.press("alpha", "ArrowRight") for _ in range(unmeasured + count)]
        return Redraws(tuple(times[unmeasured:]), os.getloadavg()[0])

    def drag(self, name: str, pixels: int) -> None:
        """Drag a slider to the right by some pixels with the mouse, in small moves."""
        handle = self.handle(name)
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + pixels, y, steps=12)
        self.page.mouse.up()

    def screenshot(self, file: Path) -> None:
        """Write a screenshot of the page with the sliders at its top."""
        sliders = self.page.locator(".widget-slider").first
        sliders.evaluate("of => of.closest('.jp-CodeCell').scrollIntoView({block: 'start'})")
        self.page.screenshot(path=file)


@contextmanager
def opened(lab: Lab, artefacts: Path, size: ViewportSize = SIZE) -> Iterator[SliderPage]:
    """Open the notebook in a new browser and run it; closed when the block ends.

    Args:
        lab: running JupyterLab.
        artefacts: folder for a screenshot of a failure.
        size: size of the page, pixels.

    Raises:
        LabFailed: if anything fails, with the server's last lines.
    """
    from playwright.sync_api import Error

    with launched() as browser:
        page = browser.new_page(viewport=size)
        page.set_default_timeout(PATIENCE)
        notebook = SliderPage(page)
        try:
            notebook.open_and_run(lab)
            yield notebook
        except Error as failed:
            page.screenshot(path=artefacts / "failed.png")
            raise LabFailed(f"{failed}\n{lab.last_lines()}") from failed
