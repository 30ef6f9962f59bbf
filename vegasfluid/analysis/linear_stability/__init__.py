"""Linear stability of an equilibrium: linearised delay system, spectrum, margins, maps."""

from __future__ import annotations

__all__: list[str] = []
