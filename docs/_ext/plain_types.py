"""Readable annotations and attribute comments on the pages of the API.

- A quantity is shown by its name, `Packets`, and not as `Annotated[float, Unit(...), Ge(ge=0)]`.
  Sphinx has no setting for this: `autodoc_type_aliases` keeps limits that an annotation adds.
- A default from a factory is shown as `...`, because `<factory>` makes a signature unreadable.
- A comment on an attribute is a sentence: the words before a colon in it are not a type.
"""

from __future__ import annotations

import sys
from typing import Any

import sphinx.util.typing
from sphinx.application import Sphinx

from vegasfluid import quantities
from vegasfluid.quantities import Unit

__all__ = ["NAMES", "setup"]

NAMES = ("Packets", "Seconds", "Delay", "PacketsPerSecond", "PerSecond", "Probability", "Share")
"""Quantities, annotations of `float` with a unit; of two with the same unit the last is shown."""
NAME_OF_UNIT = {getattr(quantities, name).__metadata__[0]: name for name in NAMES}
"""The name that is shown for an annotation with a unit."""
ATTRIBUTES = ("attribute", "data", "property")
"""Kinds of objects in whose comments napoleon takes the words before a colon as a type."""
BEFORE_NAPOLEON = 400
"""Priority of a listener that runs before napoleon's, which has 500."""

sphinx_stringify = sphinx.util.typing.stringify_annotation


def stringify(annotation: Any, /, mode: Any = "fully-qualified-except-typing", **more: Any) -> str:
    """Return an annotation as text: a quantity by its name, other limits left out.

    `mode` and `more` are passed to Sphinx's function of the same name.
    """
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is None:
        return sphinx_stringify(annotation, mode, **more)
    for part in metadata:
        if isinstance(part, Unit) and part in NAME_OF_UNIT:
            return ("~" if mode == "smart" else "") + f"vegasfluid.quantities.{NAME_OF_UNIT[part]}"
    return stringify(annotation.__origin__, mode, **more)


def without_factory(
    app: Sphinx, what: str, name: str, member: object, options: object, given: str, returns: str
) -> tuple[str, str] | None:
    """Return a signature with `...` for `<factory>`, or None where it has no such default."""
    return (given.replace("<factory>", "..."), returns) if given and "<factory>" in given else None


def keep_colons(
    app: Sphinx, what: str, name: str, member: object, options: object, lines: list[str]
) -> None:
    """Put an empty comment before the text on an attribute, so that napoleon finds no type."""
    if what in ATTRIBUTES and lines and ":" in lines[0]:
        lines[:0] = ["..", ""]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the listeners with Sphinx and put `stringify` in the place of Sphinx's."""
    for module in list(sys.modules.values()):
        if getattr(module, "stringify_annotation", None) is sphinx_stringify:
            module.stringify_annotation = stringify  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", without_factory)
    app.connect("autodoc-process-docstring", keep_colons, priority=BEFORE_NAPOLEON)
    return {"parallel_read_safe": True}
