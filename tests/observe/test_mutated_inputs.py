"""Damaged files of every format are read or rejected in one line: no traceback, no hang."""

import random
import time

import pytest

from tests.observe.samples import (
    CSV,
    IPERF3,
    SS,
    TC,
    TCP_PROBE,
    TCP_PROBE_EVENTS,
    pcap,
    pcapng,
)
from tests.observe.test_pcap import RTT, transfer
from vegasfluid.observe import Measurement, MeasurementFileError, read

CAPTURE = transfer(0.0005, RTT)
INPUTS = {
    "ss": SS.encode(),
    "iperf3": IPERF3.encode(),
    "tc": TC.encode(),
    "csv": CSV.encode(),
    "tcp_probe module": TCP_PROBE.encode(),
    "tcp_probe event": TCP_PROBE_EVENTS.encode(),
    "pcap": pcap(CAPTURE),
    "pcapng": pcapng(CAPTURE),
}
PIECES = [b"\0", b"\xff" * 4, b"-1", b"1e400", b"nan", b"9" * 40, b"\n", b'"', b"[" * 300, b":"]
PIECES += [b"\0\0\0\0", b"\xff\xff\xff\x7f", b"{", b",", b"true", b"null", b"0x1", b"/", b" "]
LONGEST = 2.0
"""Time that reading a few kilobytes may take on a busy machine, s."""


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The data with one to six changes: bytes changed, cut out, repeated, replaced, or the end cut.

    Args:
        data: the input.
        rng: random numbers.
    """
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(data) or 1)
        end = place + rng.choice((1, 2, 4, 16, 100))
        kind = rng.randrange(6)
        if kind == 0:
            data = data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]
        elif kind == 1:
            data = data[:place] + data[end:]
        elif kind == 2:
            data = data[:end] + data[place:]
        elif kind == 3:
            data = data[:place] + rng.choice(PIECES) + data[place:]
        elif kind == 4:
            piece = rng.choice(PIECES)
            data = data[:place] + piece + data[place + len(piece) :]
        elif rng.random() < 0.3:
            data = data[:place]
    return data


def outcome(file, data: bytes) -> str:
    """`read` or `rejected`, after a check of the message and the time."""
    file.write_bytes(data)
    begin = time.perf_counter()
    try:
        found: Measurement | MeasurementFileError = read(file, interval=1.0)
    except MeasurementFileError as error:
        found = error
    assert time.perf_counter() - begin < LONGEST
    if isinstance(found, Measurement):
        return "read"
    message = str(found)
    assert "\n" not in message
    assert message.startswith(str(file))
    assert len(message) < 400
    return "rejected"


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path, name):
    rng = random.Random(sum(name.encode()))
    outcomes = {outcome(tmp_path / "input", mutated(INPUTS[name], rng)) for _ in range(150)}
    assert outcomes == {"read", "rejected"}
