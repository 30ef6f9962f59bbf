"""A model file from the estimates of a measurement, with the source of each number in a comment."""

from __future__ import annotations

from collections.abc import Sequence

from vegasfluid.congestion import congestion_controls
from vegasfluid.errors import InvalidInput, Words, printable
from vegasfluid.observe.estimate import NetworkEstimate
from vegasfluid.observe.estimated import Estimated
from vegasfluid.observe.flow_classes import MeasuredClass
from vegasfluid.version import package_version

__all__ = ["model_text"]

NARROW = 0.03
"""Relative width of an interval up to which the model has a number instead of a range: a search
over ranges costs more runs, and such a width is below the accuracy of the models."""
WIDEST = 10.0
"""Ratio of the ends of a range whose upper end is not known (chosen)."""
SHORTEST, LONGEST = 60.0, 300.0
"""Shortest and longest simulated time, s; between them 1000 round trips."""
ROUND_TRIPS = 1000.0
"""Simulated time in round trips."""
LINUX_DEFAULT = "cubic"
"""Congestion control that is assumed where it is not known: the default of Linux."""
VEGAS = (2.0, 4.0)
"""Linux's defaults of alpha and beta, packets."""
RED_BUFFER = 2.0
"""Buffer of a queue that drops early, relative to its upper threshold (chosen: never full)."""
READ = ("codel", "fq", "fq_codel")
"""Queue disciplines whose name `tc` gives, and whose parameters are taken to be the defaults."""
LEAST_TARGET = 1e-3
"""Smallest target delay that is written, s."""


def model_text(found: NetworkEstimate, files: Sequence[str] = (), *, add_vegas: bool = True) -> str:
    """Text of a model file: a network with ranges, each with its source.

    Args:
        found: estimates from the measurement.
        files: names of the files that were read.
        add_vegas: whether a Vegas flow is added, for `recommend` to tune, if none was measured.

    Raises:
        InvalidInput: if the link was never full, or its capacity cannot be known.
    """
    if not found.capacity.is_known:
        allowed, given = "known to write a model", Words("unknown")
        raise InvalidInput("observe", "the capacity of the link", allowed, given)
    rtt = max(each.rtt for each in found.classes)
    duration = min(max(SHORTEST, round(ROUND_TRIPS * rtt)), LONGEST)
    source = printable(", ".join(files)).replace("\\", "/").replace('"', "'")
    parts = [
        f"# Written by vegasfluid {package_version()}, observe. Intervals are 90 %.",
        f'title = "A measured network"\nsource = "measured: {source}"',
        f"duration_s = {duration:g}\nwarmup_s = {duration / 3:g}",
        f"packet_bytes = {found.packet_bytes}\n",
        *_bottleneck(found),
        *(line for each in found.classes for line in _flows(each, found.has_one_path)),
        *_others(found),
        *(_added_vegas(found) if add_vegas else []),
    ]
    return "\n".join(parts) + "\n"


def _bottleneck(found: NetworkEstimate) -> list[str]:
    """Lines of the table of the bottleneck."""
    capacity = found.capacity.scaled(found.packet_bytes * 8e-6)
    lines = ["[bottleneck]", *_number("capacity_mbps", capacity)]
    queue = found.discipline
    comment = f"# {queue.how}"
    if found.early_drops is None:
        name = queue.name if queue.name in READ else "droptail"
        return [*lines, *_buffer(found), comment, f'aqm = {{ name = "{name}" }}\n']
    low, high, most = found.early_drops
    buffer = found.buffer.value or max(round(RED_BUFFER * high), 10)
    size = f"buffer_packets = {buffer:g}"
    if not found.buffer.is_known:
        size += "  # assumed: deep enough that it never fills"
    if queue.name == "red":
        options = queue.options
        low, high = options.get("min", low), options.get("max", high)
        most = options.get("probability", most)
        keys = f"min_thresh_packets = {low:.4g}, max_thresh_packets = {high:.4g}"
        aqm = f'aqm = {{ name = "red", {keys}, max_drop = {most:.3g} }}\n'
        return [*lines, size, comment, aqm]
    if queue.name in READ:
        return [*lines, size, comment, f'aqm = {{ name = "{queue.name}" }}\n']
    target = max(found.queueing_delay, LEAST_TARGET) * 1e3
    comment += f"; in its place, PIE with the measured delay ({queue.name} is not in the models)"
    return [*lines, size, comment, f'aqm = {{ name = "pie", target_ms = {target:.3g} }}\n']


def _buffer(found: NetworkEstimate) -> list[str]:
    """Lines of the buffer of a drop-tail queue; a wide range if it is not known."""
    if found.buffer.is_known:
        return _number("buffer_packets", found.buffer)
    low = max(found.buffer.low, 4.0)
    path = float(found.capacity.value or 0) * max(
        float(c.base_rtt.value or 0) for c in found.classes
    )
    high = max(WIDEST * low, path)
    values = f'{{ low = {low:.4g}, high = {high:.4g}, spread = "log_uniform" }}'
    return [f"# {found.buffer.how}; from the largest queue seen", f"buffer_packets = {values}"]


def _flows(each: MeasuredClass, has_one_path: bool) -> list[str]:
    """Lines of a class of measured flows."""
    law, comment = _law(each)
    head = [f"[flows.{each.name}]", f"count = {len(each.flows)}  # measured"]
    rest = ["start_s = { spread_s = 1 }", 'host = "linux"']
    return [*head, *_base_rtts(each, has_one_path), *rest, *comment, f"law = {law}\n"]


def _base_rtts(each: MeasuredClass, has_one_path: bool) -> list[str]:
    """Lines of the base RTT of a class of measured flows: a number, a range, or one of each flow.

    It is a number if all flows have one path: its error is then that of all classes, and does not
    make them different, as independent ranges would.
    """
    base = each.base_rtt.scaled(1e3)
    if each.has_one_rtt:
        return _number("base_rtt_ms", base, WIDEST if has_one_path else NARROW)
    values = ", ".join(f"{value * 1e3:.4g}" for value in each.base_rtts)
    return [f"# {base.how}; {_interval(base)}", f"base_rtt_ms = [{values}]"]


def _law(each: MeasuredClass) -> tuple[str, list[str]]:
    """Table of a class's congestion control, and lines of comments on it."""
    if each.vegas is not None:
        alpha, beta = each.vegas
        if alpha.value is None or beta.value is None:
            comment = f"# alpha and beta: Linux's defaults; {alpha.how}"
            return _vegas(*VEGAS), [comment]
        low = max(round(alpha.value), 1)
        comment = f"# {alpha.how}; alpha {_interval(alpha)}, beta {_interval(beta)}"
        return _vegas(low, max(round(beta.value), low)), [comment]
    if each.control in congestion_controls():
        return f'{{ name = "{each.control}" }}', []
    given = printable(each.control) or "not known"
    comment = f"# {given}: not in the models, {LINUX_DEFAULT} in its place"
    return f'{{ name = "{LINUX_DEFAULT}" }}', [comment]


def _vegas(alpha: float, beta: float) -> str:
    """Table of Linux's Vegas with these parameters, packets."""
    values = f"alpha_packets = {alpha:g}, beta_packets = {beta:g}, gamma_packets = 1"
    return f'{{ name = "vegas", {values}, dialect = "linux" }}'


def _others(found: NetworkEstimate) -> list[str]:
    """Lines of the class of flows that were not measured, if there are any."""
    if found.competitors is None:
        return []
    count = found.competitors.alike
    control = found.competitors.control
    law = control if control in congestion_controls() and control != "vegas" else LINUX_DEFAULT
    base = max(found.classes, key=lambda each: len(each.flows)).base_rtt.scaled(1e3)
    low = max(round(count.low), 1)
    high = round(min(count.high, WIDEST * max(count.value or low, low)))
    value = f"{{ low = {low}, high = {high} }}" if high > low else f"{max(low, 1)}"
    like_all, comment = found.competitors.count, []
    if like_all != count and like_all.value is not None:
        kinds = "if they are like all measured flows, some of which are Vegas"
        comment = [f"# flows of {law} that have their rate; {like_all.value:.2g} {kinds}"]
    return [
        "[flows.others]",
        f"# not measured: {count.how}",
        *comment,
        f"count = {value}",
        "# assumed: base RTT and congestion control of the measured flows",
        f"base_rtt_ms = {base.value:.4g}",
        "start_s = { spread_s = 1 }",
        'host = "linux"',
        f'law = {{ name = "{law}" }}\n',
    ]


def _added_vegas(found: NetworkEstimate) -> list[str]:
    """Lines of a Vegas flow to tune where none was measured."""
    if any(each.vegas is not None for each in found.classes):
        return []
    base = max(found.classes, key=lambda each: len(each.flows)).base_rtt.scaled(1e3)
    return [
        "[flows.vegas]",
        "# not measured: a flow to tune, with the base RTT of the measured ones",
        "count = 1",
        f"base_rtt_ms = {base.value:.4g}",
        "start_s = { spread_s = 1 }",
        'host = "linux"',
        f"law = {_vegas(*VEGAS)}\n",
    ]


def _number(key: str, found: Estimated, narrow: float = NARROW) -> list[str]:
    """Lines of a model file with a known number: a comment with its source, and the entry `key`.

    The entry is the value, or a range if its 90 % interval is wider than the fraction `narrow` of
    the value. The ends of a range are those of the interval, at most a factor of 10 away from it.
    """
    value = float(found.value or 0)
    comment = f"# {found.how}; {_interval(found)}"
    if found.high - found.low <= narrow * value:
        return [comment, f"{key} = {value:.6g}"]
    low, high = max(found.low, value / WIDEST), min(found.high, value * WIDEST)
    return [comment, f"{key} = {{ low = {low:.4g}, high = {high:.4g} }}"]


def _interval(found: Estimated) -> str:
    """The 90 % interval of an estimated number as text, such as `9 to 12`."""
    return f"{found.low:.4g} to {found.high:.4g}"
