"""Of several requests by the same tab of a browser, only the latest is computed, one at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["Overtaken", "Ticket", "Tickets", "Worker"]

Found = TypeVar("Found")
"""Type of the result of a job."""

MOST_TABS = 64
"""Number of tabs that are remembered; the one that has asked least recently is forgotten."""


class Overtaken(Exception):
    """A newer request of the same tab has come, or its page is gone."""


class Ticket:
    """The place of a request in the sequence of its tab.

    Args:
        newest: returns the number of the tab's newest request.
        number: number of this request.
        gone: returns whether the page that sent the request is gone.
    """

    def __init__(self, newest: Callable[[], int], number: int, gone: Callable[[], bool]) -> None:
        self._newest, self._number, self._gone = newest, number, gone

    def check(self) -> None:
        """Raise Overtaken if a newer request of the tab has come, or its page is gone."""
        if self._newest() != self._number or self._gone():
            raise Overtaken


class Tickets:
    """Gives a ticket to each request of one kind, such as runs or planes; newer ones overtake."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._lock, self._count = threading.Lock(), 0

    def take(self, tab: str, gone: Callable[[], bool]) -> Ticket:
        """A ticket for a new request, which overtakes all others of the tab.

        Args:
            tab: name of the tab.
            gone: returns whether the page that sent the request is gone.
        """
        with self._lock:
            self._count += 1
            number = self._newest[tab] = self._count
            self._newest.move_to_end(tab)
            if len(self._newest) > MOST_TABS:
                self._newest.popitem(last=False)
        return Ticket(lambda: self._newest.get(tab, 0), number, gone)


class Worker:
    """A thread that computes one job at a time, in the order in which they are submitted.

    It lasts as long as the server: each thread that ends would leave unused memory behind.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)

    def compute(self, ticket: Ticket, job: Callable[[], Found]) -> Found:
        """Wait for the jobs before this one, compute it, and return its result.

        Args:
            ticket: ticket of the request.
            job: computes the result, without arguments; its errors are raised here.

        Raises:
            Overtaken: if the request is overtaken before its job begins; later it is not ended.
        """
        return self.submit(ticket, job).result()

    def submit(self, ticket: Ticket, job: Callable[[], Found]) -> Future[Found]:
        """Put a job after those before it, and return its future result at once.

        Args:
            ticket: ticket of the request; if it is overtaken before its job begins, the future
                raises Overtaken.
            job: computes the result, without arguments; the future raises its errors.
        """

        def checked() -> Found:
            """The job's result, unless it has been overtaken."""
            ticket.check()
            return job()

        return self._thread.submit(checked)
