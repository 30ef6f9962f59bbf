"""Fair TCP Vegas: fluid models, checked by packet simulation.

Public names are imported on first use, so that `import vegasfluid` is fast; `__init__.pyi` lists
them.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """The public class, function or module `name`, imported on first use; `__version__`: a string.

    Raises:
        AttributeError: for a name that is not in `__init__.pyi`.
    """
    if name == "__version__":
        from vegasfluid.version import package_version

        return package_version()
    return _public_name(name)
