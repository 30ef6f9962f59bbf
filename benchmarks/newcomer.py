"""The first ten minutes of a new user, in a fresh environment with empty caches, step by step.

    python -m benchmarks.newcomer [--json] [--full]

The wheel is installed into a new environment. Then the commands of the page Start run as they are
written there, and `vegasfluid explore uplink.toml` is used in Chromium: the buffer is changed, the
point dragged, a setting confirmed on packets, a recommendation made, explained, and exported. Each
figure is the time of a step by the clock.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.browser import launched
from benchmarks.first_use import ROOT, built, done, installed
from benchmarks.harness import Figures, run

__all__ = ["commands", "explored", "measure", "written_model"]

START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
"""The page whose commands are run."""
LIMIT = 600.0
"""Target of all steps together, s."""
PATIENCE = 300_000
"""Timeout of a step in the browser, ms; on a slow machine equations are compiled meanwhile."""
LINES = 5
"""Lines of the JSON document with the address."""
BUFFER = "[data-path='bottleneck.buffer_packets']"
ALPHA = "[data-path='flows.vegas.law.alpha_packets']"
QUICK = "#outcome:not([aria-busy])[data-accurate=false]"
ACCURATE = "#outcome:not(.stale, [aria-busy])[data-accurate=true]"


def commands() -> list[list[str]]:
    """Commands of Start after the installation, as lists of arguments of `vegasfluid`."""
    blocks = re.findall(r"^```sh\n(.*?)^```", START, re.MULTILINE | re.DOTALL)
    words = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [arguments for name, *arguments in filter(None, words) if name == "vegasfluid"]


def written_model() -> str:
    """The model file that Start asks the reader to write."""
    found = re.search(r"^```toml\n(title = .*?)^```", START, re.MULTILINE | re.DOTALL)
    if found is None:
        raise RuntimeError("docs/start.md has no model file")
    return found[1]


@contextmanager
def served(programs: Path, folder: Path, **environment: str) -> Iterator[str]:
    """The address of `vegasfluid explore uplink.toml`, which ends at Ctrl-C."""
    command = [programs / "vegasfluid", "explore", "uplink.toml", "--no-browser", "--json"]
    with subprocess.Popen(
        command, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads("".join(process.stdout.readline() for _ in range(LINES)))["url"]
        finally:
            process.send_signal(signal.SIGINT)
    if process.returncode != 130:
        raise RuntimeError(f"explore ended with status {process.returncode}")


def explored(page: Any, url: str, step: Callable[[str], None]) -> None:
    """What a new user does on the page of `explore`.

    Args:
        page: an empty page of a browser.
        url: address of the page.
        step: called with the name of each step after it.

    Raises:
        RuntimeError: if a step has not the effect that it should have.
    """
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.wait_for_selector("#outcome[data-ratio]")
    step("explore.first_picture")
    page.wait_for_selector(ACCURATE)
    page.wait_for_selector("#plane:not([aria-busy])")
    step("explore.plane")
    page.fill(BUFFER, "300")
    page.wait_for_selector(QUICK)
    page.wait_for_selector(ACCURATE)
    expect("buffer_packets = 300" in page.input_value("#text"), "the buffer is not 300")
    step("explore.buffer")
    box = page.locator("#plane").bounding_box()
    alpha = page.input_value(ALPHA)
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.6 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.2 * box["height"], steps=10)
    page.mouse.up()
    page.wait_for_selector(QUICK)
    page.wait_for_selector(ACCURATE)
    expect(page.input_value(ALPHA) != alpha, "dragging has not moved the point")
    step("explore.drag")
    finished(page, "confirm")
    expect("5 runs: ratio" in page.inner_text("#job"), page.inner_text("#job"))
    step("explore.confirm")
    finished(page, "recommend")
    expect("alpha = " in page.inner_text("#job"), page.inner_text("#job"))
    step("explore.recommend")
    finished(page, "why")
    page.wait_for_selector("#why-dialog[open]")
    page.click("#why-close")
    step("explore.why")
    page.select_option("#format", "linux")
    page.click("#export")
    page.wait_for_selector("#export-dialog[open]")
    expect("tcp_vegas" in page.inner_text("#export-text"), "the export has no tcp_vegas")
    step("explore.export")


def finished(page: Any, button: str) -> None:
    """Press a button whose job takes a while, and wait for its end."""
    page.click(f"#{button}")
    page.wait_for_selector(f"#{button}:not([disabled])")


def expect(condition: bool, message: str) -> None:
    """Raise RuntimeError with a message unless a condition is true."""
    if not condition:
        raise RuntimeError(message)


def measure(full: bool) -> Figures:
    """Time all steps, each once; `--full` changes nothing."""
    figures, begin = Figures(), time.perf_counter()

    def step(name: str) -> None:
        """Add the time since the end of the step before."""
        figures.add(f"{name}_s", time.perf_counter() - begin - sum(figures.values.values()))
        print(f"{name}: {figures.values[f'{name}_s']:.1f} s", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = built(folder / "dist")
        begin = time.perf_counter()
        programs = installed(wheel, folder / "environment", "--compile-bytecode")
        step("install")
        (folder / "uplink.toml").write_text(written_model(), encoding="utf-8")
        cache = {"VEGASFLUID_CACHE_DIR": str(folder / "cache")}
        for number, arguments in enumerate(commands(), 1):
            done(programs / "vegasfluid", *arguments, cwd=folder, **cache)
            step(f"start.{number}.{arguments[0]}")
        with served(programs, folder, **cache) as url, launched() as browser:
            explored(browser.new_page(viewport={"width": 1280, "height": 1000}), url, step)
    figures.add("all_s", sum(figures.values.values()), at_most=LIMIT)
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
