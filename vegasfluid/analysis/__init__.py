"""What theory says of a network: rest, closed forms, stability, proofs; and runs beside it.

Loaded on first use: closed forms, certificates and the literature's laws do without JAX.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
