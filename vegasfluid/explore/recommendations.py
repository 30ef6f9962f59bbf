"""A recommendation for the page, with its reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from vegasfluid.congestion.vegas import Vegas
from vegasfluid.errors import Unsupported, printable
from vegasfluid.explore.followed import Report, followed
from vegasfluid.explore.latest import Ticket, Worker
from vegasfluid.model import Model
from vegasfluid.network import Network
from vegasfluid.tuning import explain, recommend
from vegasfluid.tuning.explanation import Explanation, MeasuredSetting
from vegasfluid.tuning.explanation_text import measured_lines, term_rows, theory_lines
from vegasfluid.tuning.result import Recommendation
from vegasfluid.tuning.rules_of_thumb import RULES
from vegasfluid.tuning.settings import RunSettings

__all__ = ["Recommendations"]

COMPILING = "{}: compiling the simulators (the first time only) …"
"""Line of progress before those of the job; `{}` stands for the job's name."""


class Recommendations:
    """Computes recommendations and remembers the last one, whose reasons can be asked for.

    Args:
        worker: computes them, one at a time.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._last: Recommendation | None = None

    def recommend(
        self, model: Model, tuned: str | None, ticket: Ticket
    ) -> Iterator[dict[str, Any]]:
        """Recommend alpha and beta of a Vegas class, as `vegasfluid recommend` does.

        Args:
            model: network and times.
            tuned: the Vegas class; None: the only one.
            ticket: ticket of the request; once it is overtaken the search ends at its next step.

        Yields:
            Objects with `progress`, one line; for a setting that was tried also its `step`:
            `engine`, `alpha`, `beta` (packets) and `ratio`. The last one has `recommended`, see the
            function `recommended`.

        Raises:
            InvalidInput: if there is nothing to tune or to compare with.
            SolveFailed: if the fluid model cannot be integrated.
            Overtaken: if a newer request of the tab has come, or its page is gone.
        """

        def search(report: Report) -> Recommendation:
            """The recommendation, which is remembered."""
            settings = RunSettings(until=model.duration, warmup=model.warmup, report=report)
            self._last = recommend(model.network, tuned, **settings)
            return self._last

        first = COMPILING.format("Recommend")
        return followed(search, recommended, self._worker, ticket, first)

    def why(self, model: Model, ticket: Ticket) -> Iterator[dict[str, Any]]:
        """Explain the last recommendation, as `vegasfluid recommend --explain` does.

        Args:
            model: the model with the recommended parameters.
            ticket: ticket of the request.

        Yields:
            Objects with `progress`, one line, then one with `why`: `alpha` (packets), its `terms`
            (name and packets; empty without theory), `lines`, sentences on theory, `rules` (name,
            and averages of packet runs, see `row`) and `measured`, sentences on these runs.

        Raises:
            Unsupported: if there is no recommendation yet, or the network is not the recommended
                one.
            Overtaken: if a newer request of the tab has come, or its page is gone.
        """
        last = self._last
        if last is None or not is_recommended(last, model.network):
            reason = "it explains a recommendation: press Recommend first"
            raise Unsupported("explore", "Why for this setting", reason)

        def reasons(report: Report) -> Explanation:
            """The explanation."""
            settings = RunSettings(until=model.duration, warmup=model.warmup, report=report)
            return explain(last, **settings)

        first = COMPILING.format("Why")
        return followed(reasons, lambda why: explained(last, why), self._worker, ticket, first)


def is_recommended(found: Recommendation, network: Network) -> bool:
    """Whether a network has the recommended alpha and beta, and is the same otherwise."""
    law, flows = cast(Any, found.after.law), network.flows.get(found.tuned)
    own = cast(Any, flows and flows.law)
    if not isinstance(own, Vegas) or (own.alpha, own.beta) != (law.alpha, law.beta):
        return False
    return network.with_law(found.tuned, law) == found.network


def recommended(found: Recommendation) -> dict[str, Any]:
    """A recommendation as the page shows it, under `recommended`.

    Returns:
        The class (`tuned`), `alpha` and `beta` (packets), whether the goal is `reached` and why
        not (`reason`). Of packet runs: `ratio`, its 95 % confidence `interval`, the number of
        `runs`, and `before`, the ratio with the given parameters.
    """
    law, packets = cast(Any, found.after.law), found.after.packets
    return {
        "recommended": {
            "tuned": found.tuned,
            "alpha": float(law.alpha),
            "beta": float(law.beta),
            "reached": found.reached,
            "reason": printable(found.reason),
            "ratio": packets.ratio,
            "interval": packets.interval,
            "runs": len(packets.runs),
            "before": found.before.packets.ratio,
        }
    }


def explained(found: Recommendation, why: Explanation) -> dict[str, Any]:
    """An explanation as the page shows it, under `why`.

    Returns:
        `alpha` (packets), its `terms` (name and packets; empty without theory), `lines`, sentences
        on theory, `rules` (name, and averages of packet runs, see `row`) with the recommended and
        the default setting, and `measured`, sentences on these runs.
    """
    rules = {RULES[name]: tried for name, tried in why.rules.items()}
    settings = {"recommended": why.recommended} | rules | {"defaults": why.defaults}
    return {
        "why": {
            "alpha": float(cast(Any, found.after.law).alpha),
            "terms": [] if why.theory is None else term_rows(found, why.theory),
            "lines": theory_lines(found, why),
            "rules": [[name, *row(tried)] for name, tried in settings.items()],
            "measured": measured_lines(found, why),
        }
    }


def row(tried: MeasuredSetting) -> list[float]:
    """Averages of the packet runs with a setting.

    Returns:
        Alpha and beta (packets), ratio, the ends of its 95 % interval, Jain's index and queueing
        delay (s).
    """
    means, law = tried.packets.means(), cast(Any, tried.law)
    ratio, interval = means["ratio"], tried.packets.interval
    return [
        float(law.alpha),
        float(law.beta),
        ratio,
        *interval,
        means["jain_index"],
        means["queueing_delay_s"],
    ]
