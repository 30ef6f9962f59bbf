"""Answers to the page's requests, by name; each takes and returns JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from vegasfluid import modelfile
from vegasfluid.errors import InvalidInput, VegasfluidError, Words
from vegasfluid.explore.documents import (
    NOMINAL,
    document_of_text,
    errors_of,
    model_of,
    model_of_text,
)
from vegasfluid.explore.fair_range import alpha_ranges
from vegasfluid.explore.fluid_runs import fluid_run
from vegasfluid.explore.latest import Ticket, Tickets, Worker
from vegasfluid.explore.packet_runs import packet_runs
from vegasfluid.explore.planes import plane, span_of
from vegasfluid.explore.recommendations import Recommendations
from vegasfluid.explore.schema import form_schema, numbers_to_tune
from vegasfluid.explore.theory import stability_in_theory
from vegasfluid.export import FORMATS, Exported, export_model, needs_points
from vegasfluid.model import Model
from vegasfluid.sweep.axes import with_numbers
from vegasfluid.tuning.operating_point import operating_points
from vegasfluid.version import package_version

__all__ = ["Session"]

Request = Mapping[str, Any]
"""The JSON object that the page sends."""
Answer = dict[str, Any]
"""The JSON object that the page gets, or a part of a long answer."""
Gone = Callable[[], bool]
"""Returns whether the page that sent the request is gone."""


class Session:
    """Answers to the requests of the page, by name in `answers`.

    There are four kinds: quick runs, accurate runs, planes, and jobs such as a recommendation. Each
    kind computes one request at a time, so that a moved slider never waits for another kind.

    Args:
        model: the model that the page shows first.
        name: file or name of this model, which the page shows.
    """

    def __init__(self, model: Model, name: str) -> None:
        self._first, self.name = replace(model, ranges={}), name
        self._notes = [NOMINAL] if model.ranges else []
        self._moves, self._planes, self._jobs = Tickets(), Tickets(), Tickets()
        self._quick, self._accurate, self._long, self._job = (Worker() for _ in range(4))
        self._recommendations = Recommendations(self._job)
        self.answers: dict[str, Callable[[Request, Gone], Answer | Iterator[Answer]]] = {
            "start": self.start,
            "read": self.read,
            "run": self.run,
            "plane": self.plane,
            "packets": self.packets,
            "recommend": self.recommend,
            "why": self.why,
            "export": self.export,
            "stability": self.stability,
        }

    def start(self, request: Request, gone: Gone) -> Answer:
        """What the page needs first; neither argument is used.

        Returns:
            `version` of the package, `name` of the model, `schema` of the form (see `form_schema`),
            export `formats`, `notes`, and what `opened` returns for the model.
        """
        return {
            "version": package_version(),
            "name": self.name,
            "schema": form_schema(),
            "formats": list(FORMATS),
            "notes": self._notes,
            **opened(self._first),
        }

    def read(self, request: Request, gone: Gone) -> Answer:
        """Read a model from a request's `model` (a built-in name), else `text`, else `document`.

        Returns:
            `notes`, and what `opened` returns for the model; or the `errors`.
        """
        try:
            if "model" in request:
                model = modelfile.read_model(bundled_name(request["model"]))
                notes = [NOMINAL] if model.ranges else []
                return {"notes": notes, **opened(replace(model, ranges={}))}
            if "text" in request:
                return {"notes": [], **opened(model_of_text(str(request["text"])))}
            return {"notes": [], **opened(model_of(request.get("document")))}
        except VegasfluidError as error:
            return {"errors": errors_of(error)}

    def run(self, request: Request, gone: Gone) -> Answer:
        """Simulate a request's `document` with the numbers `set` (by name) once.

        Its `tuned` names the class in the numerator of the ratio, `accurate` asks for 1 % accuracy.

        Returns:
            What `fluid_run` returns, with `document` and `text` of the model; or the `errors`.

        Raises:
            Overtaken: if a newer run of the tab is requested before this one begins.
        """
        ticket = self._moves.take(tab_of(request), gone)
        try:
            model = changed(model_of(request.get("document")), request.get("set"))
            accurate = request.get("accurate") is True
            worker, tuned = self._accurate if accurate else self._quick, class_of(request, model)
            found = worker.compute(ticket, lambda: fluid_run(model, tuned, accurate=accurate))
        except VegasfluidError as error:
            return {"errors": errors_of(error)}
        return found | written(model)

    def plane(self, request: Request, gone: Gone) -> Iterator[Answer]:
        """Simulate a request's `document` over the spans `x` and `y` of two numbers.

        Its `tuned` names the class in the numerator of the ratio.

        Yields:
            What `planes.plane` yields, then `{"done": true}`; or the `errors` as the last part.

        Raises:
            Overtaken: if a newer plane of the tab is requested, or its page is gone.
        """
        ticket = self._planes.take(tab_of(request), gone)
        try:
            model = model_of(request.get("document"))
            spans = span_of(request.get("x")), span_of(request.get("y"))
            parts = plane(model, *spans, class_of(request, model))
            yield from one_at_a_time(parts, self._long, ticket)
            yield {"done": True}
        except VegasfluidError as error:
            yield {"errors": errors_of(error)}

    def packets(self, request: Request, gone: Gone) -> Iterator[Answer]:
        """Simulate a request's `document` with packets; yields as `packet_runs`, or `errors`."""

        def parts(model: Model, ticket: Ticket) -> Iterator[Answer]:
            """The parts, computed by the worker of jobs."""
            return one_at_a_time(packet_runs(model, class_of(request, model)), self._job, ticket)

        return self.long_job(request, gone, parts)

    def recommend(self, request: Request, gone: Gone) -> Iterator[Answer]:
        """Recommend alpha and beta of class `tuned` in a request's `document`.

        Yields what `Recommendations.recommend` does, or `errors`.
        """

        def parts(model: Model, ticket: Ticket) -> Iterator[Answer]:
            """The parts of the recommendation."""
            return self._recommendations.recommend(model, class_of(request, model), ticket)

        return self.long_job(request, gone, parts)

    def why(self, request: Request, gone: Gone) -> Iterator[Answer]:
        """Explain the last recommendation, whose network must be that of a request's `document`.

        Yields what `Recommendations.why` does, or `errors`.
        """
        return self.long_job(request, gone, self._recommendations.why)

    def long_job(
        self, request: Request, gone: Gone, parts: Callable[[Model, Ticket], Iterator[Answer]]
    ) -> Iterator[Answer]:
        """Parts of a long answer about a request's `document`; the last may have `errors`.

        Args:
            request: the request of a page.
            gone: returns whether the page is gone.
            parts: returns the parts for the model in `document`.

        Raises:
            Overtaken: if a newer job of the tab is requested, or its page is gone.
        """
        ticket = self._jobs.take(tab_of(request), gone)
        try:
            yield from parts(model_of(request.get("document")), ticket)
        except VegasfluidError as error:
            yield {"errors": errors_of(error)}

    def export(self, request: Request, gone: Gone) -> Answer:
        """Export `document` of a request to its `format`, as `vegasfluid export` does.

        Args:
            request: the request of a page.
            gone: returns whether the page is gone, so that nobody waits for the answer.

        Returns:
            `files`, texts by name, and `notes` on differences; or `errors`, for an invalid document
            or a network that the system does not support.
        """
        ticket = self._jobs.take(tab_of(request), gone)
        try:
            model, system = model_of(request.get("document")), str(request.get("format"))
            found = self._job.compute(ticket, lambda: exported(model, system))
        except VegasfluidError as error:
            return {"errors": errors_of(error)}
        return {"files": dict(found.files), "notes": list(found.notes)}

    def stability(self, request: Request, gone: Gone) -> Answer:
        """Equilibrium of a request's `document`, and its linear stability.

        Returns:
            `stability`, what `stability_in_theory` returns; or the `errors`.

        Raises:
            Overtaken: if a newer job of the tab is requested before this one begins.
        """
        ticket = self._jobs.take(tab_of(request), gone)
        try:
            model = model_of(request.get("document"))
            tuned = class_of(request, model)
            job = partial(stability_in_theory, model.network, tuned)
            return {"stability": self._job.compute(ticket, job)}
        except VegasfluidError as error:
            return {"errors": errors_of(error)}


def exported(model: Model, system: str) -> Exported:
    """A model as files for another system, with Vegas parameters translated where it needs that.

    Raises:
        InvalidInput: for an unknown system, or a part of the model that it does not support.
    """
    classes = needs_points(model, system)
    points = operating_points(model, classes) if classes else {}
    return export_model(model, system, points=points)


def one_at_a_time(parts: Iterator[Answer], worker: Worker, ticket: Ticket) -> Iterator[Answer]:
    """Yield the parts of a long computation, each computed by the worker.

    Raises:
        Overtaken: before the next part, if a newer request has come or the page is gone.
    """
    while (part := worker.compute(ticket, lambda: next(parts, None))) is not None:
        yield part


def opened(model: Model) -> Answer:
    """A model as the page opens it: `document` and `text` (see `written`), and `numbers`.

    The numbers are those of `numbers_to_tune`; alpha and beta of Vegas have as `low` and `high` the
    range of `alpha_ranges`.
    """
    numbers = numbers_to_tune(model.network)
    ends = alpha_ranges(model.network)
    for number in numbers:
        owner, _, key = str(number["name"]).rpartition(".")
        if owner in ends and key in ("alpha_packets", "beta_packets"):
            number["low"], number["high"] = ends[owner]
    return {"numbers": numbers, **written(model)}


def written(model: Model) -> Answer:
    """A model as JSON (`document`) and as the text of a model file (`text`), in its units."""
    text = modelfile.dumps(model)
    return {"document": document_of_text(text), "text": text}


def changed(model: Model, numbers: object) -> Model:
    """A model with other numbers, validated together.

    `numbers` has values by parameter name, in the unit that ends the name; None changes nothing.

    Raises:
        InvalidInput: for something else, an unknown name, or values out of range.
    """
    if numbers is None:
        return model
    if not isinstance(numbers, Mapping) or not all(
        type(value) in (int, float) for value in numbers.values()
    ):
        raise InvalidInput("explore", "set", "a table of numbers", Words("something else"))
    values = {str(name): float(value) for name, value in numbers.items()}
    return replace(model, network=with_numbers(model.network, values))


def class_of(request: Request, model: Model) -> str | None:
    """Class in the numerator of the ratio that a request asks for; None: not given or unknown."""
    name = request.get("tuned")
    return name if isinstance(name, str) and name in model.network.flows else None


def tab_of(request: Request) -> str:
    """Name that a tab of the browser gives itself, cut to 40 characters; empty without one."""
    return str(request.get("tab", ""))[:40]


def bundled_name(name: object) -> str:
    """The name, if a built-in model has it; requests cannot read other files.

    Raises:
        InvalidInput: for anything else.
    """
    known = modelfile.bundled_models()
    if not isinstance(name, str) or name not in known:
        raise InvalidInput("explore", "model", "one of " + ", ".join(known), name)
    return name
