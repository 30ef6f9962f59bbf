"""What an export is: files with their texts, and what they do not carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vegasfluid.export.quoting import comment
from vegasfluid.export.spoken import Spoken
from vegasfluid.model import Model

__all__ = ["Exported", "about"]


@dataclass(frozen=True)
class Exported:
    """A model in another system's words.

    Args:
        format: the system.
        files: texts by file name; the first is the one to run.
        vegas: the parameters of each Vegas class.
        notes: what the system does otherwise than the model, each a sentence.
    """

    format: str
    files: Mapping[str, str]
    vegas: Mapping[str, Spoken] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The export as one document."""
        return {
            "format": self.format,
            "vegas": {
                name: {**of.values, "from_dialect": of.dialect, "translated": of.translated}
                for name, of in self.vegas.items()
            },
            "notes": list(self.notes),
            "files": dict(self.files),
        }


def about(model: Model, notes: tuple[str, ...], spoken: Mapping[str, Spoken]) -> list[str]:
    """Lines of comment: the model, where the Vegas parameters are from, and the notes."""
    lines = comment(f"Model: {model.title}") if model.title else []
    lines += comment(f"Source: {model.source}") if model.source else []
    for name, of in spoken.items():
        values = ", ".join(f"{key} {value:g}" for key, value in of.values.items())
        lines += comment(f"Vegas of {name}: {values}; {of.told}.")
    for note in notes:
        lines += comment(note)
    return lines
