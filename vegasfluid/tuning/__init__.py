"""Tuning: search on the fluid model, correction on packets, recommendation, explanation.

`explain` is loaded on first use, as a recommendation does without theory.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
