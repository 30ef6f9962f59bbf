"""Hatchling's build hook of vegasfluid-dde: it writes the package and adds it to the archive."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sources


class Copies(BuildHookInterface):
    """Adds the package `vegasfluid_dde` to a wheel or a source distribution.

    In the repository it is copied from `vegasfluid/`; a source distribution has it already, and
    hatchling finds it there.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package into a temporary folder, unless it is here, and include it."""
        if (Path(self.root) / sources.NAME).exists():
            return
        self.folder = tempfile.TemporaryDirectory()
        for name, text in sources.files().items():
            path = Path(self.folder.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        package = Path(self.folder.name) / sources.NAME
        build_data["force_include"][str(package)] = sources.NAME

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if hasattr(self, "folder"):
            self.folder.cleanup()
