"""Numbers that the theory pages state, against the code."""

from __future__ import annotations

from tests.paths import ROOT
from vegasfluid.analysis.charts import (
    STABLE_AT_ANY_GAIN,
    STABLE_AT_HIGH_GAIN,
    vegas_critical_gain,
    vegas_unstable_gains,
)


def test_the_stability_of_vegas_alone() -> None:
    """Its table of critical gains, and the ends of the bulge."""
    text = (ROOT / "docs" / "theory" / "stability.md").read_text()
    page = text[text.index("## Vegas without losses") :].split("\n## ")[0]
    rows = [line.strip("|").split("|")[1:] for line in page.splitlines() if line.startswith("| $")]
    for rtt_ratio, gain in zip(*rows, strict=True):
        digits = len(gain.strip().partition(".")[2])
        assert round(vegas_critical_gain(float(rtt_ratio)), digits) == float(gain)
    low, high = vegas_unstable_gains(0.687)
    assert f"{STABLE_AT_HIGH_GAIN:.5f}$, where" in page
    assert f"goes back to $\\theta = {STABLE_AT_ANY_GAIN:.5f}$" in page
    assert f"Below $\\theta = {STABLE_AT_ANY_GAIN:.5f}$" in page
    assert f"above ${1 / STABLE_AT_ANY_GAIN - 1:.4f}\\,T$" in page
    assert low < 15 < high
