"""The notebook with the sliders, and the network that it simulates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import vegasfluid as vf

__all__ = ["NOTEBOOK", "NOTEBOOKS", "ROOT", "network"]

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
NOTEBOOK = "02_alpha_beta_plane.ipynb"


def network() -> vf.Network:
    """The notebook's, by running the cell that makes it."""
    cells = json.loads((NOTEBOOKS / NOTEBOOK).read_text())["cells"]
    source = next("".join(cell["source"]) for cell in cells if cell["id"] == "network")
    names: dict[str, Any] = {}
    exec("\n".join(line for line in source.splitlines() if not line.startswith("%")), names)
    return names["network"]
