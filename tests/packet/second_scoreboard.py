"""Scoreboard of selective ACKs of the second engine (see `second_engine`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Scoreboard"]


@dataclass
class Scoreboard:
    """RFC 6675, by sets of packet numbers; with Linux's tolerance of packets that overtake."""

    sacked: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    resent: set[int] = field(default_factory=set)
    """Since they were lost."""
    highest: int = 0
    """After the highest packet that has arrived."""
    reordering: int = 3

    def report(self, block: range, una: int, times_sent: Counter[int]) -> None:
        """Take in a block; what lies `reordering` below the highest is lost."""
        new = {seq for seq in block if seq >= una} - self.sacked
        self.tolerate(new, times_sent)
        self.sacked |= new
        self.highest = max([self.highest, *(seq + 1 for seq in new)])
        self.lost |= set(range(una, self.highest - self.reordering))
        self.lost -= self.sacked

    def acknowledge(self, acked: range, times_sent: Counter[int]) -> None:
        """What is acknowledged has arrived, too."""
        self.tolerate(set(acked) - self.sacked, times_sent)
        for known in (self.sacked, self.lost, self.resent):
            known.difference_update(acked)
        self.highest = max(self.highest, acked.stop)

    def tolerate(self, arrived: set[int], times_sent: Counter[int]) -> None:
        """A packet that was sent once and comes after later ones was overtaken."""
        late = [self.highest - seq for seq in arrived if times_sent[seq] == 1]
        late = [min(places, 300) for places in late if places > 1]
        self.reordering = max([self.reordering, *late])

    def holes(self) -> set[int]:
        return self.lost - self.resent

    def pipe(self, una: int, next_seq: int) -> int:
        """Packets in the network."""
        return len(set(range(una, next_seq)) - self.sacked - self.holes())
