"""What requirements.lock pins, what pyproject.toml asks for, and which pins are for users."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

__all__ = ["Pin", "declared", "pins", "pins_at_run_time", "project"]

ROOT = Path(__file__).resolve().parents[1]
OURSELVES = "vegasfluid"
PIN = re.compile(r"^(?P<name>[\w.\[\]-]+)==(?P<version>\S+)(?: ; (?P<marker>.*?))?(?: \\)?$")
HASH = re.compile(r"^    --hash=(?P<hash>sha256:[0-9a-f]{64})(?: \\)?$")
VIA = re.compile(r"^    #(?: via)?\s+(?P<parent>[\w.-]+)")


@dataclass
class Pin:
    """One pinned version.

    Args:
        name: of the library, in its canonical spelling.
        version: the version.
        marker: where it is for; None: everywhere.
        hashes: of its files.
        parents: what it is there for.
    """

    name: str
    version: Version
    marker: Marker | None
    hashes: list[str] = field(default_factory=list)
    parents: set[str] = field(default_factory=set)

    def is_for(self, environment: Mapping[str, str]) -> bool:
        """Whether it is installed there."""
        return self.marker is None or self.marker.evaluate(dict(environment))


def pins() -> list[Pin]:
    """Everything that is pinned.

    Raises:
        ValueError: for a line that is neither a pin, nor a hash, nor a comment on one.
    """
    found: list[Pin] = []
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if pin := PIN.match(line):
            marker = Marker(pin["marker"]) if pin["marker"] else None
            name = canonicalize_name(pin["name"].partition("[")[0])
            found.append(Pin(name, Version(pin["version"]), marker))
        elif given := HASH.match(line):
            found[-1].hashes.append(given["hash"])
        elif parent := VIA.match(line):
            found[-1].parents.add(canonicalize_name(parent["parent"]))
        elif line.strip() not in ("", "# via"):
            raise ValueError(f"requirements.lock: {line!r}")
    return found


def project() -> dict[str, Any]:
    """What pyproject.toml holds."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def group(groups: Mapping[str, list[Any]], name: str) -> Iterator[str]:
    """The requirements of a dependency group and of those that it includes."""
    for one in groups[name]:
        if isinstance(one, str):
            yield one
        else:
            yield from group(groups, one["include-group"])


def declared() -> dict[str, list[Requirement]]:
    """Requirements in the lock: of users, of sweeps, of notebooks and of developers."""
    document = project()
    extras = document["project"]["optional-dependencies"]
    texts = {
        "run time": document["project"]["dependencies"],
        "sweep": extras["sweep"],
        "notebooks": [text for text in extras["notebooks"] if not text.startswith(OURSELVES)],
        "dev": group(document["dependency-groups"], "dev"),
    }
    return {name: [Requirement(text) for text in item] for name, item in texts.items()}


def pins_at_run_time() -> list[Pin]:
    """Pins that `pip install 'vegasfluid[sweep]'` installs, with all that they require."""
    asked = declared()
    wanted = {canonicalize_name(one.name) for one in asked["run time"] + asked["sweep"]}
    everything = pins()
    while more := {pin.name for pin in everything if pin.parents & wanted} - wanted:
        wanted |= more
    return [pin for pin in everything if pin.name in wanted]
