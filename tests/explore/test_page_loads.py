"""All scripts of the page are valid JavaScript and begin their work: a check of seconds."""

from __future__ import annotations

from tests.explore.conftest import ARTEFACTS
from vegasfluid.explore.server import PAGE
from vegasfluid.explore.single_file import SAVED


def test_all_scripts_load_and_the_first_request_is_sent(browser, client):
    page = browser.new_page()
    errors: list[str] = []
    scripts: set[str] = set()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfinished", lambda request: scripts.add(request.url.rsplit("/", 1)[-1]))
    page.route("**/api/run", lambda route: route.abort())
    page.route("**/api/plane", lambda route: route.abort())
    with page.expect_response("**/api/start", timeout=20_000) as answer:
        page.goto(client.server.url)
    assert answer.value.ok
    page.wait_for_selector("[data-path='bottleneck.capacity_mbps']")
    page.screenshot(path=ARTEFACTS / "explore_form.png")
    page.close()
    assert errors == []
    assert scripts >= {path.name for path in PAGE.glob("*.js") if path.stem not in SAVED.values()}
