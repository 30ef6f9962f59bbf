"""Traces of the reference kernel in the forms of `ss -tin`, `tc -s -j qdisc` and iperf3."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.observe.traces import LARGEST, Trace

__all__ = ["FORMS", "iperf3_text", "ss_text", "tc_text", "written"]

BEGIN = 1_700_000_000.0
"""Clock time of the kernel's start, s."""
FRAME, SEGMENT = 1514, 1448
"""Bytes of a full packet with its Ethernet header, and of its data."""
TICKS = 10
"""Listings of `ss` in a second."""


def ss_text(trace: Trace) -> str:
    """What a loop of `ss -tin` with times prints at the senders of the measured flows.

    They are one host if all flows have the same RTT, else a host each.
    """
    listings: dict[int, list[str]] = {}
    one_host = len({flow["rtt_ms"] for flow in trace.scenario["flows"]}) == 1
    for number, samples in zip(trace.scenario["measured"], trace.flows, strict=True):
        control = trace.scenario["flows"][number]["algo"]
        sender = f"10.1.{0 if one_host else number}.1"
        for k, moment in enumerate(samples["t"]):
            row = {name: values[k] for name, values in samples.items()}
            lines = listings.setdefault(round(moment * TICKS), [])
            lines += [
                f"ESTAB 0 262144 {sender}:{40_000 + number} 10.9.0.2:{5000 + number}",
                "\t" + socket_words(control, row),
            ]
    texts = (
        f"{BEGIN + tick / TICKS:.3f}\n" + "\n".join(listings[tick]) for tick in sorted(listings)
    )
    return "\n".join(texts) + "\n"


def socket_words(control: str, row: dict[str, float]) -> str:
    """The line of a connection: its congestion control, windows, RTTs (ms) and counters."""
    threshold = f"ssthresh:{row['ssthresh']:.0f} " if row["ssthresh"] < LARGEST else ""
    selective = f"sacked:{row['sacked']:.0f} " if row["sacked"] else ""
    return (
        f"{control} wscale:10,10 rto:204 rtt:{row['rtt_us'] / 1e3:.3f}/1.5 mss:{SEGMENT} "
        f"pmtu:1500 cwnd:{row['cwnd']:.0f} {threshold}bytes_acked:{row['bytes_acked']:.0f} "
        f"unacked:{row['unacked']:.0f} retrans:0/{row['total_retrans']:.0f} {selective}"
        f"delivered:{row['delivered']:.0f} minrtt:{row['minrtt_us'] / 1e3:.3f}"
    )


def tc_text(trace: Trace) -> str:
    """What a loop of `tc -s -j qdisc show` with times prints on the router before the link."""
    queue, lines = trace.queue, []
    for k, moment in enumerate(queue["t"]):
        counters = {
            "bytes": int(queue["bytes"][k]),
            "packets": int(queue["packets"][k]),
            "drops": int(queue["drops"][k]),
            "overlimits": 0,
            "requeues": 0,
            "backlog": int(queue["backlog"][k]),
            "qlen": int(queue["qlen"][k]),
        }
        shaper = {"kind": "tbf", "handle": "1:", "root": True, "options": {}, **counters}
        inner = {"kind": trace.scenario["queue"]["kind"], "handle": "10:", "parent": "1:1"}
        found = [shaper, {**inner, "options": options(trace.scenario["queue"]), **counters}]
        lines += [f"{BEGIN + moment:.3f}", json.dumps(found)]
    return "\n".join(lines) + "\n"


def options(queue: dict[str, Any]) -> dict[str, Any]:
    """Options of a queue discipline as `tc` prints them: packets for pfifo, bytes for RED."""
    if queue["kind"] == "red":
        sizes = {name: queue[name] * FRAME for name in ("limit", "min", "max")}
        return {**sizes, "adaptive": False, "ewma": 5, "probability": queue["prob"]}
    if queue["kind"] == "codel":
        return {"limit": queue["limit"], "target": 4999, "interval": 99_999}
    return {"limit": queue["limit"]}


def iperf3_text(trace: Trace) -> str:
    """The report of `iperf3 --json` at a sender with a stream for each measured flow.

    One interval a second, from the time on at which all streams run; as iperf3 does, it gives the
    data of an interval, and windows (bytes) and RTTs (microseconds) at its end. The data is that
    which was acknowledged; iperf3 counts what it gives to TCP, which the traces do not have.
    """
    begin = max(float(samples["t"][0]) for samples in trace.flows)
    ends = np.arange(begin, float(trace.flows[0]["t"][-1]) + 1e-6, 1.0)
    intervals = []
    for start, end in pairwise(ends):
        streams = [
            stream(number, samples, start, end)
            for number, samples in zip(trace.scenario["measured"], trace.flows, strict=True)
        ]
        intervals.append({"streams": streams})
    connected = [
        {
            "socket": 5 + number,
            "local_host": f"10.1.{number}.1",
            "local_port": 40_000 + number,
            "remote_host": "10.9.0.2",
            "remote_port": 5201,
        }
        for number in trace.scenario["measured"]
    ]
    head = {"connected": connected, "version": "iperf 3.12", "tcp_mss_default": SEGMENT}
    head["timestamp"] = {"timesecs": int(BEGIN)}
    return json.dumps({"start": head, "intervals": intervals})


def stream(number: int, samples: dict[str, np.ndarray], start: float, end: float) -> dict[str, Any]:
    """A stream's entry of an interval from `start` to `end`, s."""
    first, last = (int(np.searchsorted(samples["t"], edge + 1e-3)) - 1 for edge in (start, end))
    change = {name: int(samples[name][last] - samples[name][first]) for name in COUNTED}
    return {
        "socket": 5 + number,
        "start": start,
        "end": end,
        "seconds": end - start,
        "bytes": change["bytes_acked"],
        "retransmits": change["total_retrans"],
        "snd_cwnd": int(samples["cwnd"][last]) * SEGMENT,
        "rtt": int(samples["rtt_us"][last]),
        "pmtu": 1500,
        "sender": True,
    }


COUNTED = ("bytes_acked", "total_retrans")
"""Counters whose growth iperf3 gives for each interval."""


FORMS = {"ss": (ss_text,), "tc": (ss_text, tc_text), "iperf3": (iperf3_text,)}
"""The files of each form of a measurement."""


def written(trace: Trace, form: str, folder: Path) -> list[Path]:
    """Files of a trace in one of `FORMS`, written into a folder."""
    files = []
    for number, text in enumerate(FORMS[form]):
        files.append(folder / f"{number}.txt")
        files[-1].write_text(text(trace), encoding="utf-8")
    return files
