"""Loss recovery of a modern host: RACK-TLP, proportional rate reduction, F-RTO and undo.

The state machine and the choices that the RFCs leave open are those of Linux 6.1 (its behaviour,
read in net/ipv4/tcp_input.c, tcp_recovery.c, tcp_output.c and tcp_timer.c; no code copied).

Not modelled: reports of duplicate data (RFC 2883, D-SACK), so the reordering window stays at a
quarter of the smallest RTT, and a response is undone only by the time of an ACK; sockets with less
than one packet to send (Nagle, segmentation offload); pacing.
"""

from __future__ import annotations

__all__: list[str] = []
