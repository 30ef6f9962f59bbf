"""What pages show of other machines and of programs that are not installed everywhere."""

from __future__ import annotations

import itertools
import os
import re
import shutil

__all__ = ["check_form", "crosscheck_here", "programs_are_known"]

PROGRAMS = {"apt-get", "cd", "cp", "echo", "grep", "ip", "make", "rm", "sh", "ss", "sysctl"}
PROGRAMS |= {"cat", "iperf3", "modprobe", "tar", "tc", "tcpdump", "while"}
"""Programs that a reader may type on another machine."""
NUMBERS = r"( +\S+){2} +\S+ to \S+ +\S+ +"
"""Fluid, packets, interval and reference in a row of `crosscheck`."""
CROSSCHECKED = (
    r"\d+ runs each, seeds \d+ to \d+, averages from \S+ to \S+ s",
    r"fluid packets interval .* verdict",
    rf".*, (Mbit/s per flow|ratio to others){NUMBERS}(inside|outside|undecided)",
    rf".*, (queue in packets|loss ratio){NUMBERS}(inside|outside|undecided)",
    r"Note: .*",
    r".*: inside\.",
    r".*: (outside|undecided) \(.*",
    r".* (above|below) ours\)\.",
)
"""Lines that `crosscheck` prints, or second parts of lines."""


def check_form(text: str) -> None:
    """Hold what is quoted of `crosscheck` against the form of its lines."""
    for line in filter(None, (" ".join(line.split()) for line in text.splitlines())):
        assert any(re.fullmatch(form, line) for form in CROSSCHECKED), line


def programs_are_known(text: str) -> None:
    """Hold what is typed on another machine, behind $ or #, against the programs that it has."""
    for line in text.splitlines():
        if line.startswith(("$ ", "# ")):
            assert line.split()[1] in PROGRAMS, line


def crosscheck_here(arguments: list[str]) -> list[str]:
    """Arguments of `crosscheck` with the kernel that is here; none if a reference is missing."""
    pairs = itertools.pairwise(arguments)
    references = {word for before, word in pairs if before == "--with"}
    kernel = os.environ.get("VEGASFLUID_KERNEL")
    here = {
        "ns2": shutil.which("ns"),
        "ns3": os.environ.get("VEGASFLUID_NS3_PYTHON"),
        "linux": kernel,
    }
    if not all(here[name] for name in references):
        return []
    return [kernel if kernel and word == "./linux" else word for word in arguments]
