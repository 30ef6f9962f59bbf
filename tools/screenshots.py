"""Pictures of every page of the site, and of `explore`, as people see them.

    python -m tools.screenshots [--site build/docs] [--out build/screenshots] [PAGE ...]

Each page is drawn at 1280 and 390 pixels, light and dark, as NAME_WIDTH_SCHEME.png. It is an error
if a page is wider than its window, or if one of its scripts fails. Needs Chromium and Playwright.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.browser import launched
from tools.lock import ROOT
from vegasfluid.explore import ExploreServer
from vegasfluid.explore.session import Session
from vegasfluid.modelfile import read_model

__all__ = ["main", "pictures", "served"]

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
HEIGHT = 900
"""Height of the window, pixels; pictures are as high as their page."""
EXPLORED = "weigle_feng_network2"
"""Model that `explore` shows."""
PATIENCE = 120_000
"""Timeout of a page, ms; `explore` compiles its equations."""
READY = "main:has(#outcome:not(.stale)[data-accurate=true]) #plane:not([aria-busy])"
"""What `explore` shows once its run is accurate and its plane is complete."""

Server = TypeVar("Server", bound=ThreadingHTTPServer)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """A server that answers in a thread until the context ends."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def pictures(browser: Any, pages: dict[str, tuple[str, str | None]], folder: Path) -> list[str]:
    """Draw pages at all widths and schemes, and return what is wrong with them.

    Args:
        browser: Playwright's browser.
        pages: address, and selector of what must be there first (None: nothing), by name.
        folder: where the pictures are written.
    """
    wrong: list[str] = []
    for (name, (address, ready)), width, scheme in product(pages.items(), WIDTHS, SCHEMES):
        picture = f"{name}_{width}_{scheme}"
        size = {"width": width, "height": HEIGHT}
        page = browser.new_page(viewport=size, color_scheme=scheme)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error, picture=picture: wrong.append(f"{picture}: {error}"))
        page.goto(address, wait_until="networkidle" if ready is None else "load")
        if ready is not None:
            page.wait_for_selector(ready)
        page.screenshot(path=folder / f"{picture}.png", full_page=True)
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append(f"{picture}: {wide} pixels wide")
        page.close()
    return wrong


def site_pages(site: Path, address: str) -> dict[str, tuple[str, str | None]]:
    """All pages of a built site, by their path with dots."""
    files = sorted(path.relative_to(site) for path in site.rglob("*.html"))
    return {
        ".".join(file.with_suffix("").parts): (f"{address}/{file.as_posix()}", None)
        for file in files
        if "_static" not in file.parts
    }


def main(arguments: list[str] | None = None) -> int:
    """Draw all pages, or those named; returns 1 if something is wrong with one."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "docs")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screenshots")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="such as use.explore, or explore")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    handler = partial(Quiet, directory=given.site)
    session = Session(read_model(EXPLORED), EXPLORED)
    with (
        served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as site,
        served(ExploreServer(session)) as explore,
        launched() as browser,
    ):
        pages = site_pages(given.site, f"http://127.0.0.1:{site.server_port}")
        pages["explore"] = (explore.url, READY)
        if unknown := set(given.pages) - pages.keys():
            parser.error(f"no such page: {', '.join(sorted(unknown))}")
        chosen = {name: pages[name] for name in given.pages or pages}
        wrong = pictures(browser, chosen, given.out)
    print("\n".join(wrong) or f"{len(chosen)} pages, in {given.out}", file=sys.stdout)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
