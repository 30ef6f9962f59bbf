"""The plane has the numbers of a sweep, comes from coarse to fine, and ends when overtaken."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator

import pytest

from tests.cli.commands import SMALL
from tests.explore.conftest import Client
from vegasfluid.explore.latest import MOST_TABS, Overtaken, Tickets, Worker
from vegasfluid.explore.planes import coarse_to_fine
from vegasfluid.modelfile import loads
from vegasfluid.sweep import Numbers, Sweep
from vegasfluid.sweep.fluid_batches import compute

ALPHA = {"name": "vegas.alpha_packets", "low": 1, "high": 9, "count": 3}
BETA = {"name": "vegas.beta_packets", "low": 3, "high": 11, "count": 3}


@pytest.fixture(scope="module")
def parts(client: Client):
    document = client.ask("start")["document"]
    return client.post("plane", document=document, x=ALPHA, y=BETA).lines


@pytest.mark.slow
@pytest.mark.unoptimised
def test_the_plane_has_the_numbers_of_a_sweep(parts):
    head, *batches, last = parts
    assert last == {"done": True}
    assert head["x"] == [1, 5, 9]
    assert head["y"] == [3, 7, 11]
    points = {(column, row): rest for part in batches for column, row, *rest in part["points"]}
    assert sorted(points) == sorted(map(tuple, head["valid"]))
    assert sorted(points) == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]  # alpha <= beta
    axes = [Numbers(BETA["name"], head["y"]), Numbers(ALPHA["name"], head["x"])]
    sweep = Sweep(loads(SMALL), axes, tune="vegas", chunk=32)
    expected = compute(sweep, (0, 0)).values
    for (column, row), (ratio, jain, delay, drops, used) in points.items():
        at = (3 * row + column, 0)
        assert ratio == pytest.approx(expected["ratio"][at], rel=1e-6)
        assert jain == pytest.approx(expected["jain_index"][at], rel=1e-6)
        assert delay == pytest.approx(expected["queueing_delay_s"][(*at, 0)], rel=1e-6)
        assert drops == pytest.approx(expected["drop_share"][(*at, 0)], rel=1e-6)
        assert used == pytest.approx(expected["utilisation"][(*at, 0)], rel=1e-6)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({**ALPHA, "name": "vegas.alfa"}, "vegas.alpha_packets"),
        ({**ALPHA, "low": 9, "high": 1}, "the lower one first"),
        ({**ALPHA, "low": "1"}, "two numbers"),
        ({**ALPHA, "count": 1000}, "2 to 41"),
        ({**ALPHA, "count": 2.5}, "2 to 41"),
        (BETA, "different"),
        (None, "two numbers"),
    ],
)
def test_axes_that_make_no_plane_are_errors_of_one_line(client: Client, document, x, message):
    [part] = client.post("plane", document=document, x=x, y=BETA).lines
    [error] = part["errors"]
    assert message in error["message"]


def test_every_point_comes_once_and_coarse_ones_first():
    order = coarse_to_fine(9, 7)
    assert len(order) == len(set(order)) == 63
    first = order[: 3 * 2]
    assert {(row % 4, column % 4) for row, column in first} == {(0, 0)}


def test_a_newer_request_of_the_same_tab_overtakes():
    tickets = Tickets()
    one, other = tickets.take("a", lambda: False), tickets.take("b", lambda: False)
    one.check()
    newer = tickets.take("a", lambda: False)
    with pytest.raises(Overtaken):
        one.check()
    newer.check()
    other.check()


def test_a_page_that_is_gone_ends_its_requests():
    gone = threading.Event()
    ticket = Tickets().take("a", gone.is_set)
    ticket.check()
    gone.set()
    with pytest.raises(Overtaken):
        ticket.check()


def test_tabs_that_are_gone_are_forgotten():
    tickets = Tickets()
    for number in range(10 * MOST_TABS):
        tickets.take(str(number), lambda: False)
    assert len(tickets._newest) == MOST_TABS


def test_a_waiting_run_is_overtaken_by_a_newer_one(client: Client, document):
    session, found = client.server.session, {}

    def run(name: str) -> None:
        found[name] = client.ask("run", document=document, tab="one")

    with occupied(session._quick):  # a run of another tab takes its time
        threads = [threading.Thread(target=run, args=(name,)) for name in ("old", "new")]
        threads[0].start()
        wait_for(lambda: session._moves._newest.get("one"))
        before = session._moves._newest["one"]
        threads[1].start()
        wait_for(lambda: session._moves._newest["one"] > before)
    for thread in threads:
        thread.join()
    assert found["old"] == {"overtaken": True}
    assert found["new"]["ratio"] > 0


def test_a_plane_stops_when_its_page_is_gone(client: Client, document):
    session = client.server.session
    with occupied(session._long):  # so that it waits before its first run
        connection = client.connect()
        body = json.dumps({"document": document, "x": ALPHA, "y": BETA, "tab": "gone"})
        connection.request("POST", f"{client.base}api/plane", body, {
            "Content-Type": "application/json"})  # fmt: skip
        wait_for(lambda: session._planes._newest.get("gone"))
        threads = threading.active_count()
        connection.close()
    wait_for(lambda: threading.active_count() < threads - 1)


@contextlib.contextmanager
def occupied(worker: Worker) -> Iterator[None]:
    """Context in which a worker is busy with something else."""
    done = threading.Event()
    other = Tickets().take("other", lambda: False)
    thread = threading.Thread(target=worker.compute, args=(other, done.wait))
    thread.start()
    yield
    done.set()
    thread.join()


def wait_for(condition) -> None:
    """Wait until something has happened, at most 20 s."""
    pause = threading.Event()
    for _ in range(2000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen in time")
