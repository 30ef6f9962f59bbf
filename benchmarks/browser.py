"""Chromium for benchmarks, tests and pictures: it reaches no machine but this one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["BROWSERS", "chromium", "launched"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
"""Names of the browser's program."""
ONLY_HERE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
"""Chromium's option that resolves no address but this machine's."""


def chromium() -> str | None:
    """Return the path of the browser; None if it is not installed."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def launched() -> Iterator[Any]:
    """Playwright's browser, until the context ends; root cannot have its sandbox."""
    from playwright.sync_api import sync_playwright

    arguments = [ONLY_HERE, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()
