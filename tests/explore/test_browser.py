"""The page in Chromium as its user meets it: clicking, dragging, typing, and looking at pixels.

Pictures of the page are written into `ARTEFACTS`.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import vegasfluid as vf
from tests.cli.commands import SMALL
from tests.explore.conftest import ARTEFACTS, Client
from vegasfluid.export import export_model
from vegasfluid.modelfile import loads
from vegasfluid.modelfile.parameters import with_values
from vegasfluid.tuning.measurement import measure

pytestmark = pytest.mark.slow  # a browser

MODEL = loads(SMALL)
PATIENCE = 120_000
"""Timeout of all steps, ms; models are compiled, possibly beside other work."""
ALPHA, BETA = (f"[data-path='flows.vegas.law.{name}_packets']" for name in ("alpha", "beta"))
JOB_SAYS = "text => document.getElementById('job').textContent.includes(text)"
CAPACITY = "[data-path='bottleneck.capacity_mbps']"


@pytest.fixture
def page(browser: Any, client: Client) -> Iterator[Any]:
    """The page with the small network, after its first accurate run and its plane."""
    shown = browser.new_page(viewport={"width": 1280, "height": 1000})
    shown.set_default_timeout(PATIENCE)
    errors: list[str] = []
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.on("console", lambda one: errors.append(one.text) if one.type == "error" else None)
    shown.goto(client.server.url)
    displayed_ratio(shown)
    shown.wait_for_selector("#plane:not([aria-busy])")
    yield shown
    shown.close()
    assert errors == []


def displayed_ratio(page: Any) -> float:
    """The ratio on the page once it is accurate."""
    page.wait_for_selector("#outcome:not(.stale, [aria-busy])[data-accurate=true]")
    return float(page.get_attribute("#outcome", "data-ratio"))


def wait_for_move(page: Any) -> None:
    """Wait until a move was answered, whose run is a quick one at first."""
    page.wait_for_selector("#outcome:not([aria-busy])[data-accurate=false]")


MOVED = """() => {
    const moved = new KeyboardEvent("keydown", {key: "ArrowRight"});
    document.getElementById("plane").dispatchEvent(moved);
    return document.getElementById("outcome").ariaBusy;
}"""
EDITED = """selector => {
    const field = document.querySelector(selector);
    field.value = "11";
    field.dispatchEvent(new Event("input", {bubbles: true}));
    return document.getElementById("outcome").ariaBusy;
}"""


def numbers(page: Any) -> tuple[float, float]:
    return float(page.input_value(ALPHA)), float(page.input_value(BETA))


def ratio_at(**values: float) -> float:
    """The ratio of the small network with other numbers, by the library alone."""
    network = with_values(MODEL.network, values)
    run = vf.simulate_fluid(network, MODEL.duration, warmup=MODEL.warmup)
    return vf.metrics.goodput_ratio(run, "vegas")


def check(page: Any) -> None:
    """The ratio on the page is that of the numbers in the form."""
    ratio = displayed_ratio(page)
    alpha, beta = numbers(page)
    values = {"vegas.alpha_packets": alpha, "vegas.beta_packets": beta}
    assert ratio == pytest.approx(ratio_at(**values), rel=1e-9)


def pixels(page: Any, selector: str) -> np.ndarray:
    """Red, green and blue of an element on the screen; (height, width, 3)."""
    picture = Image.open(io.BytesIO(page.locator(selector).screenshot()))
    return np.asarray(picture.convert("RGB")).astype(int)


def test_clicking_and_dragging_on_the_plane_sets_the_point(page):
    page.screenshot(path=ARTEFACTS / "explore.png", full_page=True)
    check(page)
    before, seen = numbers(page), pixels(page, "#plane")
    box = page.locator("#plane").bounding_box()
    page.mouse.click(box["x"] + 0.4 * box["width"], box["y"] + 0.2 * box["height"])
    wait_for_move(page)
    check(page)
    clicked = numbers(page)
    assert clicked[0] > before[0]
    assert clicked[1] > before[1]
    assert np.any(pixels(page, "#plane") != seen)
    x, y = box["x"] + 0.4 * box["width"], box["y"] + 0.2 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 0.15 * box["width"], y + 0.2 * box["height"], steps=12)
    page.mouse.up()
    wait_for_move(page)
    check(page)
    dragged = numbers(page)
    assert dragged[0] < clicked[0]
    assert dragged[1] < clicked[1]


def test_from_a_move_on_the_result_is_marked_as_that_of_other_numbers(page):
    for change in (MOVED, EDITED):
        assert page.get_attribute("#outcome", "aria-busy") is None
        assert page.evaluate(change, CAPACITY) == "true"
        before = page.get_attribute("#outcome", "data-ratio")
        displayed_ratio(page)
        assert page.get_attribute("#outcome", "data-ratio") != before


def test_the_plane_has_the_colour_of_the_class_that_gets_more(page):
    seen = pixels(page, "#plane")
    red, blue = seen[..., 0], seen[..., 2]
    left, right = seen.shape[1] // 4, 3 * seen.shape[1] // 4
    assert np.mean((red - blue)[:, :left] > 60) > 0.02  # orange: small alpha, Reno gets more
    assert np.mean((blue - red)[: seen.shape[0] // 3, left:right] > 30) > 0.1  # blue: Vegas does


def test_arrow_keys_move_the_point(page):
    before = numbers(page)
    page.focus("#plane")
    page.keyboard.press("ArrowUp")
    wait_for_move(page)
    check(page)
    assert numbers(page) == (before[0], before[1] + 1)
    for _ in range(4):
        page.keyboard.press("ArrowRight")  # past beta, which rises with alpha
    wait_for_move(page)
    check(page)
    assert numbers(page) == (before[0] + 4, max(before[1] + 1, before[0] + 4))


def test_typing_changes_the_network_and_mistakes_are_shown_at_the_field(page):
    page.fill(CAPACITY, "fast")
    page.wait_for_selector(f"{CAPACITY}[aria-invalid=true]")
    error = page.get_attribute(CAPACITY, "aria-describedby")
    assert page.inner_text(f"[id='{error}']") == 'must be a number, but is "fast"'
    page.fill(ALPHA, "9")
    page.wait_for_selector(f"{ALPHA}[aria-invalid=true]")
    assert page.input_value(CAPACITY) == "fast"
    page.screenshot(path=ARTEFACTS / "explore_errors.png", full_page=True)
    page.fill(ALPHA, "2")
    page.fill(CAPACITY, "8")
    page.wait_for_selector(f"{CAPACITY}:not([aria-invalid])")
    wait_for_move(page)
    assert displayed_ratio(page) == pytest.approx(
        ratio_at(**{"bottleneck.capacity_mbps": 8}), rel=1e-9
    )
    page.reload()  # the address has the state
    assert displayed_ratio(page) == pytest.approx(
        ratio_at(**{"bottleneck.capacity_mbps": 8}), rel=1e-9
    )
    assert page.input_value(CAPACITY) == "8"


def test_classes_are_added_and_removed_in_the_form(page):
    page.select_option("#add-class", "cubic")
    page.wait_for_selector("[data-path='flows.cubic.count']")
    page.wait_for_function("() => document.getElementById('classes').tBodies[0].rows.length === 3")
    assert page.input_value("[data-path='flows.cubic.count']") == "2"  # as the first class
    page.select_option("#add-class", "cubic")
    page.wait_for_selector("[data-path='flows.cubic2.count']")
    page.click("[aria-label='Remove the flows cubic2']")
    page.click("[aria-label='Remove the flows cubic']")
    page.wait_for_function("() => document.getElementById('classes').tBodies[0].rows.length === 2")
    check(page)


def test_the_model_file_can_be_edited_as_text(page):
    page.click("#file summary")
    page.fill("#text", SMALL.replace("Two against two", "Three against two").replace(
        "[flows.reno]\ncount = 2", "[flows.reno]\ncount = 3"))  # fmt: skip
    page.click("#apply")
    page.wait_for_function("() => document.getElementById('title').textContent.startsWith('Three')")
    assert page.input_value("[data-path='flows.reno.count']") == "3"
    page.fill("#text", "capacity = ")
    page.click("#apply")
    page.wait_for_selector("#form-errors li")
    assert "line 1" in page.inner_text("#form-errors")


def test_text_that_is_being_edited_is_not_overwritten_by_the_answer_of_a_run(page):
    page.click("#file summary")
    page.fill("#text", "half a sent")
    page.focus("#plane")
    page.keyboard.press("ArrowRight")
    check(page)
    assert page.input_value("#text") == "half a sent"
    page.select_option("#format", "toml")
    page.click("#export")
    page.wait_for_selector("#export-dialog[open]")
    assert "capacity_mbps = 10" in page.inner_text("#export-text")


def test_packets_confirm_the_point_and_mark_it(page):
    before = pixels(page, "#plane")
    page.click("#confirm")
    page.wait_for_selector("#confirm:not([disabled])")
    network, times = MODEL.network, {"until": MODEL.duration, "warmup": MODEL.warmup}
    measured = measure(network, "vegas", range(1, 6), **times)
    assert f"5 runs: ratio {measured.ratio:.3g} (95 % interval" in page.inner_text("#job")
    assert page.inner_text("#confirmed").startswith(f"Packet simulator: {measured.ratio:.3g} (")
    assert np.sum(np.any(pixels(page, "#plane") != before, axis=-1)) > 100  # mark and label
    page.focus("#plane")
    page.keyboard.press("ArrowUp")
    wait_for_move(page)
    assert page.inner_text("#confirmed") == ""


def test_a_recommendation_goes_to_its_setting_and_draws_its_path(page):
    page.click("#recommend")
    page.wait_for_selector("#cancel:not([hidden])")
    page.wait_for_selector("#recommend:not([disabled])")
    network, times = MODEL.network, {"until": MODEL.duration, "warmup": MODEL.warmup}
    expected = vf.recommend(network, "vegas", **times)
    law = expected.after.law
    assert numbers(page) == (law.alpha, law.beta)
    text = page.inner_text("#job")
    assert f"alpha = {law.alpha:g}, beta = {law.beta:g}." in text
    assert text.endswith("Goal reached.") == expected.reached
    check(page)
    page.screenshot(path=ARTEFACTS / "explore_recommended.png", full_page=True)


def test_why_shows_terms_and_other_rules(page):
    page.click("#why")
    page.wait_for_function(JOB_SAYS, arg="press Recommend first")
    page.click("#recommend")
    page.wait_for_selector("#cancel:not([hidden])")
    page.wait_for_selector("#recommend:not([disabled])")
    page.click("#why")
    page.wait_for_selector("#why-dialog[open]")
    page.screenshot(path=ARTEFACTS / "explore_why.png")
    assert page.inner_text("#why-head").lower() == f"why alpha = {numbers(page)[0]:g}"
    assert "Regime: " in page.inner_text("#why-theory")
    assert page.locator("#why-rules tbody tr").count() >= 3
    page.click("#why-close")
    assert page.is_hidden("#why-dialog")


def test_a_run_is_kept_to_compare_others_with(page):
    ratio, before = displayed_ratio(page), pixels(page, "#goodput")
    page.click("#keep")
    page.focus("#plane")
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Shift+ArrowRight")
    wait_for_move(page)
    check(page)
    assert f"ratio {ratio:.3g}" in page.inner_text("#kept")
    both = pixels(page, "#goodput")
    page.click("#keep")
    assert page.is_hidden("#kept")
    alone = pixels(page, "#goodput")
    assert np.sum(np.any(both != alone, axis=-1)) > 100  # the dashed lines
    assert np.any(alone != before)


def test_stability_is_told_in_words(page):
    page.click("#stability")
    page.wait_for_function("() => document.getElementById('job').textContent.includes('margin')")
    assert vf.stability(MODEL.network).text in page.inner_text("#job")


def test_an_export_is_shown_and_saved(page):
    page.select_option("#format", "ns2")
    page.click("#export")
    page.wait_for_selector("#export-dialog[open]")
    with page.expect_download() as download:
        page.click("#export-save")
    assert download.value.suggested_filename == "scenario.tcl"
    expected = export_model(MODEL, "ns2").files["scenario.tcl"]
    assert Path(download.value.path()).read_text() == expected
    page.click("#export-close")
    page.select_option("#format", "toml")
    page.click("#export")
    page.wait_for_selector("#export-dialog[open]")
    assert loads(page.inner_text("#export-text")) == MODEL


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_everything_without_scrolling_sideways(browser, client, scheme):
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    page.goto(client.server.url)
    displayed_ratio(page)
    page.wait_for_selector("#plane:not([aria-busy])")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    ground = pixels(page, "body")[0, 0].mean()
    assert ground > 200 if scheme == "light" else ground < 60
    page.screenshot(path=ARTEFACTS / f"explore_390_{scheme}.png", full_page=True)
    page.close()


def test_every_input_has_a_name_for_screen_readers(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('input, select, textarea, button, canvas')]
          .filter(one => !(one.labels?.length || one.getAttribute('aria-label') || one.textContent))
          .map(one => one.outerHTML)"""
    )
    assert unnamed == []


class Stranger(BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>stranger</title>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


ATTACK = """
async url => {
  const tries = [
    {method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}},
    {method: 'POST', body: '{}', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}},
    {method: 'GET'},
  ];
  const found = [];
  for (const options of tries) {
    try {
      const answer = await fetch(url + (options.method === 'GET' ? '' : 'api/run'), options);
      found.push(answer.type === 'opaque' ? '' : await answer.text());
    } catch { found.push(''); }
  }
  return found;
}
"""


def test_a_page_of_another_origin_learns_nothing_even_with_the_token(browser, client):
    stranger = ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=stranger.serve_forever, daemon=True).start()
    page = browser.new_page()
    taken = client.server.session._moves._count
    try:
        page.goto(f"http://127.0.0.1:{stranger.server_port}/")
        assert page.evaluate(ATTACK, client.server.url) == ["", "", ""]
        assert client.server.session._moves._count == taken  # nothing was run
    finally:
        page.close()
        stranger.shutdown()
        stranger.server_close()


def test_nothing_is_asked_of_other_machines_and_two_tabs_do_not_disturb_each_other(
    browser, client, page
):
    other = browser.new_page()
    other.set_default_timeout(PATIENCE)
    asked: list[str] = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(client.server.url)
    displayed_ratio(other)
    for shown, key in ((page, "ArrowUp"), (other, "ArrowRight"), (page, "ArrowUp")):
        shown.focus("#plane")
        shown.keyboard.press(key)
    check(page)
    check(other)
    assert numbers(page) != numbers(other)
    assert asked
    assert all(url.startswith(client.server.url) for url in asked)
    other.close()
