"""Response time and memory of the page of `vegasfluid explore`.

    python -m benchmarks.explore [--json] [--full]

Starts its server with network 2 of Weigle and Feng (200 s of 50 flows) and asks for runs with other
alphas and betas, one after another, as the page does while the point is dragged. A move's time is
that of the whole answer: the run, its averages and its course as JSON. `growth_mb` is by how much
the memory of the server's process grows between the first and the last quarter of the moves. 200
moves; with `--full` 1000.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from typing import Any

import numpy as np
import psutil

from benchmarks.harness import Figures, run
from vegasfluid.caches import keep_compiled_equations
from vegasfluid.explore import ExploreServer
from vegasfluid.explore.session import Session
from vegasfluid.modelfile import read_model

MODEL = "weigle_feng_network2"
MEDIAN, SLOW = 150.0, 300.0
"""Targets of the median and of the 90th percentile, ms."""
FIRST = 5.0
"""Target of the first picture once equations are compiled, s."""
GROWTH = 10.0
"""Largest growth of memory that counts as none, MB: that of the allocator."""
SPAN = {"low": 1, "high": 250, "count": 17}
"""Values along the axes of the plane, as on the page."""


def ask(server: ExploreServer, name: str, **request: Any) -> Any:
    """The JSON answer to a request, the last line of a long one."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=600)
    connection.request(
        "POST",
        f"/{server.token}/api/{name}",
        json.dumps(request),
        {"Content-Type": "application/json"},
    )
    answer = connection.getresponse().read()
    connection.close()
    return json.loads(answer.splitlines()[-1])


def timed(server: ExploreServer, name: str, **request: Any) -> float:
    """Time until a request is answered wholly, s."""
    begin = time.perf_counter()
    found = ask(server, name, **request)
    assert "errors" not in found, found
    return time.perf_counter() - begin


def moved(number: int) -> dict[str, float]:
    """Numbers of a move: the point goes to and fro over the plane."""
    alpha = 1 + abs(number * 3 % 400 - 200)
    return {"vegas.alpha_packets": alpha, "vegas.beta_packets": alpha + 2 + number % 40}


def measure(full: bool) -> Figures:
    """Ask for the moves, and for the plane and the accurate run that the page begins with."""
    keep_compiled_equations()
    figures, moves = Figures(), 1000 if full else 200
    server = ExploreServer(Session(read_model(MODEL), MODEL))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    document = ask(server, "start")["document"]
    timed(server, "run", document=document)  # compiles
    spans = {
        axis: {"name": f"vegas.{name}_packets", **SPAN}
        for axis, name in (("x", "alpha"), ("y", "beta"))
    }
    timed(server, "plane", document=document, **spans)
    first = timed(server, "start") + timed(server, "run", document=document)
    plane = timed(server, "plane", document=document, **spans)
    times, memory, process = [], [], psutil.Process()
    for number in range(moves):
        times.append(timed(server, "run", document=document, set=moved(number)))
        memory.append(process.memory_info().rss / 1e6)
    server.shutdown()
    quarter = moves // 4
    figures.add("move_ms", 1e3 * np.median(times), at_most=MEDIAN)
    figures.add("move_90th_percentile_ms", 1e3 * np.percentile(times, 90), at_most=SLOW)
    figures.add("first_picture_s", first + plane, at_most=FIRST)
    figures.add("plane_s", plane)
    growth = np.median(memory[-quarter:]) - np.median(memory[:quarter])
    figures.add("growth_mb", growth, at_most=GROWTH)
    figures.add("moves", moves)
    figures.add("load_average", os.getloadavg()[0])
    return figures


if __name__ == "__main__":
    run(measure, __doc__ or "")
