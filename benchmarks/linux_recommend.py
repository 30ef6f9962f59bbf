"""Recommendations for random networks of Linux hosts, tested in a real Linux kernel.

    python -m benchmarks.linux_recommend KERNEL [--numbers 1 40]

Each network is written as a user would, with `dialect = "linux"` and nothing else about the hosts.
Numbers are drawn with a fixed seed, that of network N is N. `vegasfluid recommend` tunes it, and
`vegasfluid crosscheck` runs the result in the User Mode Linux kernel KERNEL; how to build one is in
`docs/use/crosscheck.md`. Rows are appended to `tests/agreement/linux_recommend.jsonl`, which
`python -m benchmarks.linux` summarises; a network that is there already is not run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.ns2_rows import ROOT

__all__ = ["FAIR", "RECOMMENDED", "drawn", "is_fair"]

RECOMMENDED: Path = ROOT / "tests" / "agreement" / "linux_recommend.jsonl"
RATES, DELAYS, FLOWS = (5.0, 100.0), (10.0, 150.0), (1, 6)
"""Ranges of the rate (Mbit/s, logarithmic), the base RTT (ms, logarithmic) and flows per class."""
BUFFERS = (0.5, 2.0)
"""Range of a drop-tail buffer, in packets that fit on the path."""
SMALLEST_BUFFER, SMALLEST_THRESHOLD = 20, 5
"""Smallest buffer and smallest lower threshold of RED, packets."""
PACKET_BITS = 12_000
FAIR = (0.9, 1.1)
"""Range of a fair ratio of goodputs."""
RUNS, LONGEST = 2, 900.0
"""Runs of the kernel of each network, and the longest time of a command, s."""

COMMAND = "import sys; from vegasfluid.cli.app import main; sys.exit(main())"

MODEL = """\
title = "Random network {number}"
duration_s = 60
warmup_s = 20

[bottleneck]
capacity_mbps = {rate}
buffer_packets = {buffer}
aqm = {aqm}

[flows.{rival}]
count = {rivals}
base_rtt_ms = {delay}
start_s = {{ spread_s = 1 }}
law = {{ name = "{rival}" }}

[flows.vegas]
count = {tuned}
base_rtt_ms = {delay}
start_s = {{ spread_s = 1 }}
law = {{ name = "vegas", dialect = "linux" }}
"""


def drawn(number: int) -> str:
    """Model file of a random network, by its number, which is the seed.

    RED is as its manual page advises: `max` three times `min`, and a buffer of twice `max`.
    """
    rng = np.random.default_rng(number)
    rate, delay = (float(np.exp(rng.uniform(*np.log(each)))) for each in (RATES, DELAYS))
    path = rate * 1e3 * delay / PACKET_BITS
    rivals, tuned = (int(rng.integers(FLOWS[0], FLOWS[1] + 1)) for _ in range(2))
    rival, red = str(rng.choice(["reno", "cubic"])), bool(rng.integers(2))
    size, drop = path * float(rng.uniform(*BUFFERS)), float(rng.choice([0.02, 0.05, 0.1]))
    buffer, aqm = max(round(size), SMALLEST_BUFFER), '{ name = "droptail" }'
    if red:
        low = max(round(size / 4), SMALLEST_THRESHOLD)
        buffer = 6 * low
        aqm = (
            f'{{ name = "red", min_thresh_packets = {low}, max_thresh_packets = {3 * low}, '
            f"max_drop = {drop} }}"
        )
    return MODEL.format(
        number=number,
        rate=round(rate, 1),
        buffer=buffer,
        aqm=aqm,
        rival=rival,
        rivals=rivals,
        delay=round(delay),
        tuned=tuned,
    )


def is_fair(ratio: float, fair: tuple[float, float] = FAIR) -> bool:
    """Whether a ratio of goodputs counts as fair: whether it is in the range `fair`."""
    return fair[0] <= ratio <= fair[1]


def command(*arguments: str) -> dict[str, Any]:
    """JSON document that a command of vegasfluid prints.

    Also where a goal is not reached or a reference differs, as the exit status shows.
    """
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments, "--json"],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if not done.stdout:
        raise RuntimeError(f"{arguments[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def row_of(number: int, kernel: Path) -> dict[str, Any]:
    """Row of a random network: the recommendation, and the ratios of our packets and the kernel."""
    text = drawn(number)
    with TemporaryDirectory() as folder:
        given, tuned = Path(folder, "given.toml"), Path(folder, "tuned.toml")
        given.write_text(text, encoding="utf-8")
        found = command("recommend", str(given), "--out", str(tuned))
        checked = command(
            "crosscheck",
            str(tuned),
            "--with",
            "linux",
            "--kernel",
            str(kernel),
            "--runs",
            str(RUNS),
        )
    [reference] = checked["references"].values()
    ratio = reference["classes"]["vegas"]["ratio"]
    return {
        "number": number,
        "model": text,
        "recommended": found["recommended"],
        "reached": found["reached"],
        "reason": found["reason"],
        "packets": found["packets"]["ratio"],
        "interval": found["packets"]["ratio_ci95"],
        "kernel": ratio["reference"],
        "beside_kernel": ratio["packets"],
        "queue": reference["links"]["bottleneck"]["queue_packets"],
        "reference": reference["title"],
    }


def main() -> None:
    """Run the networks with the numbers that are asked for, and append their rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--numbers", type=int, nargs=2, default=(1, 40))
    options = parser.parse_args()
    rows = RECOMMENDED.read_text(encoding="utf-8").splitlines() if RECOMMENDED.exists() else []
    known = {json.loads(row)["number"] for row in rows}
    for number in range(options.numbers[0], options.numbers[1] + 1):
        if number not in known:
            row = row_of(number, options.kernel)
            with RECOMMENDED.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
