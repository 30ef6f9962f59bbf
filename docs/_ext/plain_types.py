"""Annotations and comments as readers want them; Sphinx has no setting for these.

- A quantity is shown by its name, `Packets`, and not as `Annotated[float, Unit(...), Ge(ge=0)]`.
- A default that a factory makes is shown as `...`, for with `<factory>` a signature cannot be read.
- The comment on an attribute is a sentence: what stands before a colon in it is no type, which
  napoleon would make of it.
"""

from __future__ import annotations

import sys
from typing import Any

import sphinx.util.typing
from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring

from vegasfluid import quantities
from vegasfluid.quantities import Unit

__all__ = ["NAMES", "setup"]

NAMES = ("Packets", "Seconds", "Delay", "PacketsPerSecond", "Probability", "Share")
"""Quantities: annotations of `float` with a unit and limits; where two are alike the last."""
NAMED = {getattr(quantities, name).__metadata__[0]: name for name in NAMES}

as_sphinx_has_it = sphinx.util.typing.stringify_annotation


def stringify(annotation: Any, /, mode: Any = "fully-qualified-except-typing", **more: Any) -> str:
    """An annotation as text: a quantity by its name, other limits left out."""
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is None:
        return as_sphinx_has_it(annotation, mode, **more)
    for part in metadata:
        if isinstance(part, Unit) and part in NAMED:
            return ("~" if mode == "smart" else "") + f"vegasfluid.quantities.{NAMED[part]}"
    return stringify(annotation.__origin__, mode, **more)


def parsable(
    app: Sphinx, what: str, name: str, found: object, options: object, given: str, returns: str
) -> tuple[str, str] | None:
    """A signature without `<factory>`, which no parser of signatures takes for a default."""
    return (given.replace("<factory>", "..."), returns) if given and "<factory>" in given else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx's entry point."""
    for module in list(sys.modules.values()):
        if getattr(module, "stringify_annotation", None) is as_sphinx_has_it:
            module.stringify_annotation = stringify  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", parsable)
    GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end  # type: ignore
    return {"parallel_read_safe": True}
