"""Pictures of pages: of the asked size, and faults of a page are found."""

from __future__ import annotations

import pytest
from PIL import Image

from tools.screenshots import pictures, site_pages

GOOD = "<!doctype html><title>good</title><body style='margin:0;height:2000px'>good"
WIDE = "<!doctype html><body style='margin:0'><p style='width:900px'>wide"
BROKEN = "<!doctype html><script>const a = 1; const a = 2;</script>"


@pytest.mark.slow  # twelve pages
def test_a_page_that_is_too_wide_or_whose_script_fails_is_found(browser, tmp_path):
    site, out = tmp_path / "site", tmp_path / "out"
    (site / "use").mkdir(parents=True)
    out.mkdir()
    for name, text in {"good": GOOD, "use/wide": WIDE, "broken": BROKEN}.items():
        (site / f"{name}.html").write_text(text)
    pages = site_pages(site, site.as_uri())
    assert list(pages) == ["broken", "good", "use.wide"]
    wrong = pictures(browser, pages, out)
    assert [line for line in wrong if line.startswith("broken_390")] == [
        f"broken_390_{scheme}: Identifier 'a' has already been declared"
        for scheme in ("light", "dark")
    ]
    assert [line for line in wrong if "wide" in line] == [
        f"use.wide_390_{scheme}: 900 pixels wide" for scheme in ("light", "dark")
    ]
    assert not [line for line in wrong if line.startswith("good")]
    with Image.open(out / "good_1280_dark.png") as picture:
        assert picture.size == (1280, 2000)
