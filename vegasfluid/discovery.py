"""Find the subclasses that a package defines, so that a new file needs no registration."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol, TypeVar

__all__ = ["named_subclasses"]


class Named(Protocol):
    """A class with a name in model files."""

    name: ClassVar[str]


Kind = TypeVar("Kind", bound=Named)


def named_subclasses(package: str, path: Iterable[str], base: type[Kind]) -> dict[str, type[Kind]]:
    """Import all modules of a package and return its named subclasses of a class.

    Args:
        package: name of the package.
        path: folders of its modules (`__path__`).
        base: the abstract class; only subclasses that have an attribute `name` and are defined in
            modules of the package are returned, `base` itself not.

    Returns:
        The subclasses by their names in model files, sorted by name.

    >>> from vegasfluid import aqm
    >>> list(named_subclasses("vegasfluid.aqm", aqm.__path__, aqm.QueueDiscipline))
    ['codel', 'droptail', 'fq', 'fq_codel', 'pi', 'pi2', 'pie', 'red', 'step']
    """
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")
    inside = (kind for kind in subclasses(base) if kind.__module__.startswith(f"{package}."))
    named = {kind.name: kind for kind in inside if hasattr(kind, "name")}
    return dict(sorted(named.items()))


def subclasses(base: type[Kind]) -> Iterator[type[Kind]]:
    """All direct and indirect subclasses of a class."""
    for kind in base.__subclasses__():
        yield kind
        yield from subclasses(kind)
