"""Find what a package defines, so that adding a law is adding its file."""

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
    """Import every module of a package; what they define from `base` by its name, in order.

    Args:
        package: the package's name.
        path: where its modules lie (`__path__`).
        base: the abstract class; those derived from it in the package count, if they have a name.

    >>> from vegasfluid import aqm
    >>> list(named_subclasses("vegasfluid.aqm", aqm.__path__, aqm.QueueDiscipline))
    ['droptail', 'red']
    """
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")
    inside = (kind for kind in derived(base) if kind.__module__.startswith(f"{package}."))
    found = {kind.name: kind for kind in inside if hasattr(kind, "name")}
    return {name: found[name] for name in sorted(found)}


def derived(base: type[Kind]) -> Iterator[type[Kind]]:
    """All classes that derive from `base`."""
    for kind in base.__subclasses__():
        yield kind
        yield from derived(kind)
