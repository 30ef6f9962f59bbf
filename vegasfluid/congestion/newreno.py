"""TCP NewReno: Reno that stays in fast recovery until all losses of a window are retransmitted.

Sources:
    RFC 6582, section 3.2 (partial acknowledgements). Windows grow and shrink as in RFC 5681, so
    the drift is Reno's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vegasfluid.congestion.reno import Reno

__all__ = ["NewReno"]


@dataclass(frozen=True)
class NewReno(Reno):
    """TCP NewReno.

    >>> NewReno().recovery
    'newreno'
    """

    name: ClassVar[str] = "newreno"
    sources: ClassVar[tuple[str, ...]] = ("RFC 6582", "RFC 5681")

    recovery: str = "newreno"
    """Loss recovery: newreno (RFC 6582), reno (RFC 5681), sack (RFC 6675) or rack (RFC 8985)."""
