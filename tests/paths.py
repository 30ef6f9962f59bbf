"""Where the parts of the repository are, and the reference runs that may lie beside it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MODELS", "NS2_RUNS", "ROOT", "SHARED"]

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "models"
SHARED = ROOT.parent / "shared"
"""Reference runs and papers; not part of the repository, and not everybody has them."""
NS2_RUNS = SHARED / "reference" / "ns2" / "runs.jsonl"
