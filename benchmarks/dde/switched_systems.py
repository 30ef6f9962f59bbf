"""Delay equations with switches and bounds, and their solutions.

See `systems.py` for the conventions, and for "DDETST" and what of it is checked. The two networks
are the problems C and D of the notes on solvers, with kinks and bounds unchanged.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq

from benchmarks.dde.systems import CHECKED, UNCHECKED, System, constant, piecewise, stack

LN2, LN6, LN66 = (2 * math.log(value) for value in (2, 6, 66))
DDETST_B2 = System(
    "DDETST B2",
    "DDETST" + CHECKED,
    lambda t, y, history, args, above: jnp.where(above, -1.0, 1.0) - y,
    y0=(1.0,),
    t0=0.0,
    t1=8.3,
    initial_history=constant(1.0),
    longest_lag=4.2,
    exact=piecewise(
        (LN2, lambda t: 2 * np.exp(-t) - 1),
        (LN6, lambda t: 1 - 6 * np.exp(-t)),
        (LN66, lambda t: 66 * np.exp(-t) - 1),
    ),
    guards=lambda t, y, history, args: history(t / 2),
    breaks=(0.0, LN2, LN6, LN66),
    vanishing=(0.0,),
    notes="the slope jumps where the state at t/2 changes sign",
)


def ddetst_c1(t, y, history, args, above):
    size = jnp.where(above, y, -y)
    return -2 * history(t - 1 - size[0]) * (1 - y**2)


DDETST_C1 = System(
    "DDETST C1",
    "Paul 1994, in DDETST" + UNCHECKED,
    ddetst_c1,
    y0=(0.5,),
    t0=0.0,
    t1=30.0,
    initial_history=constant(0.5),
    longest_lag=2.0,
    reference="ddetst_c1.npz",
    guards=lambda t, y, history, args: y,
    notes="tends to a wave of period 7.96 between -1 and 1",
)


def ddetst_c2(t, y, history, args, above):
    old = history(t - y[1])[0]
    size, old_size = jnp.where(above[0], y[0], -y[0]), jnp.where(above[1], old, -old)
    return stack(-2 * old, (old_size - size) / (1 + old_size))


DDETST_C2 = System(
    "DDETST C2",
    "Paul 1994, in DDETST" + UNCHECKED,
    ddetst_c2,
    y0=(1.0, 0.5),
    t0=0.0,
    t1=40.0,
    initial_history=constant(1.0, 0.5),
    longest_lag=1.0,
    reference="ddetst_c2.npz",
    guards=lambda t, y, history, args: stack(y[0], history(t - y[1])[0]),
    notes="the lag is a component, between 0.5 and 0.81",
)


class Blood(NamedTuple):
    """Parameters of the model of red blood cells (DDETST C3 and C4)."""

    input: float
    decay: float
    removal: float
    hormone_decay: float
    release: float
    maturing: float


def blood(t, y, history, args, above=None):
    """Mahaffy, Belair and Mackey, J. Theor. Biol. 190, 1998: cells, hormone, age of the oldest."""
    new = args.input * history(t - args.maturing)[1]
    old = history(t - args.maturing - y[2])[1]
    old = args.input * (old if above is None else jnp.where(above[0], old, 9.5))
    release = args.release / (1 + 0.0382 * y[0] ** 6.96)
    aged = args.removal * jnp.exp(args.decay * y[2]) / old
    return stack(
        new - args.decay * y[0] - args.removal, release - args.hormone_decay * y[1], 1 - aged
    )


DDETST_C3 = System(
    "DDETST C3",
    "Mahaffy, Belair and Mackey 1998, in DDETST" + UNCHECKED,
    blood,
    y0=(3.325, 10.0, 120.0),
    t0=0.0,
    t1=300.0,
    initial_history=constant(3.325, 10.0, 120.0),
    longest_lag=130.0,
    args=Blood(0.0031, 0.001, 0.0275, 2.8, 6570.0, 6.0),
    reference="ddetst_c3.npz",
    guards=lambda t, y, history, args: stack(t - y[2]),
    notes="the hormone was 9.5 before -6, 10 since: a switch at t = 114.3 stands for the jump",
)

DDETST_C4 = System(
    "DDETST C4",
    "Mahaffy, Belair and Mackey 1998, in DDETST" + UNCHECKED,
    blood,
    y0=(3.5, 10.0, 50.0),
    t0=0.0,
    t1=100.0,
    initial_history=constant(3.5, 10.0, 50.0),
    longest_lag=60.0,
    args=Blood(0.00372, 0.1, 0.00178, 6.65, 15600.0, 3.0),
    reference="ddetst_c4.npz",
)


FOLDED = System(
    "folded sine",
    "y' = |cos t|" + CHECKED,
    lambda t, y, history, args, above: jnp.where(above, jnp.cos(t), -jnp.cos(t)),
    y0=(0.0,),
    t0=0.0,
    t1=20.0,
    initial_history=constant(0.0),
    longest_lag=0.0,
    exact=lambda t: (2 * half_turns(t) + (-1) ** half_turns(t) * np.sin(t))[..., None],
    guards=lambda t, y, history, args: stack(jnp.cos(t)),
    breaks=tuple((k + 0.5) * math.pi for k in range(7)),
    notes="an ordinary equation; kinks at odd multiples of pi/2",
)


def half_turns(t):
    return np.floor(np.asarray(t) / math.pi + 0.5)


STATE_KINK = System(
    "kink by state",
    "y' = 1 below 1, and 2 y above" + CHECKED,
    lambda t, y, history, args, above: jnp.where(above, 2 * y, jnp.ones_like(y)),
    y0=(0.0,),
    t0=0.0,
    t1=3.0,
    initial_history=constant(0.0),
    longest_lag=0.0,
    exact=piecewise((1.0, lambda t: t), (4.0, lambda t: np.exp(2 * t - 2))),
    guards=lambda t, y, history, args: y - 1,
    breaks=(1.0,),
    notes="an ordinary equation",
)


def triangle(t):
    """Return the solution of the delayed relay; (time, 1)."""
    t = np.asarray(t, dtype=float)
    return np.where(t < 1.5, 0.5 - t, 1 - np.abs(np.mod(t - 1.5, 4) - 2))[..., None]


RELAY = System(
    "delayed relay",
    "y' = -sign y(t-1), a zigzag of period 4" + CHECKED,
    lambda t, y, history, args, above: jnp.where(above, -jnp.ones_like(y), jnp.ones_like(y)),
    y0=(0.5,),
    t0=0.0,
    t1=20.0,
    initial_history=constant(0.5),
    longest_lag=1.0,
    exact=triangle,
    guards=lambda t, y, history, args: history(t - 1.0),
    breaks=(0.0, *(1.5 + 2 * k for k in range(10))),
    notes="exact for any method that locates the switches",
)

LEAVES = 5 * math.pi / 3  # time at which cos t passes 1/2 upwards


def excursion(u):
    """Return the queue of `EMPTIED` a time u after it starts to grow at `LEAVES`."""
    return np.sin(LEAVES + u) - math.sin(LEAVES) - u / 2


FIRST_STOP: float = brentq(lambda t: math.sin(t) - t / 2, 1.0, 3.0, xtol=1e-15)  # type: ignore
"""First time at which the queue of `EMPTIED` empties."""
LATER_STOP: float = brentq(excursion, 2.0, 6.0, xtol=1e-15)  # type: ignore
"""Duration of the later busy periods of `EMPTIED`."""


def emptied(t):
    """Return the solution of `EMPTIED`; (time, 1)."""
    t = np.asarray(t, dtype=float)
    first = np.maximum(np.sin(t) - t / 2, 0.0)
    u = np.mod(t - LEAVES, 2 * math.pi)
    later = np.where(u < LATER_STOP, excursion(u), 0.0)
    return np.where(t < FIRST_STOP, first, np.where(t < LEAVES, 0.0, later))[..., None]


EMPTIED = System(
    "emptied queue",
    "q' = cos t - 1/2 held at 0; it empties at roots found by Brent's method" + CHECKED,
    lambda t, y, history, args: stack(jnp.cos(t) - 0.5),
    y0=(0.0,),
    t0=0.0,
    t1=25.0,
    initial_history=constant(0.0),
    longest_lag=0.0,
    exact=emptied,
    bounds=((0, 0.0, None),),
    breaks=(
        FIRST_STOP,
        *(LEAVES + 2 * math.pi * k + u for k in range(4) for u in (0.0, LATER_STOP)),
    ),
    notes="an ordinary equation",
)


def between_walls(t):
    """Return q and its integral from 0: q' = sin t bounded by 0 and 1, q = 1/2 up to 0."""
    t = np.asarray(t, dtype=float)
    pi, c = math.pi, np.mod(t, 2 * math.pi)
    turn = np.floor(t / (2 * pi))
    # one period that begins at 0 with q = 0: 1 - cos, 1, -cos, 0
    q = np.select(
        [c <= pi / 2, c <= pi, c <= 3 * pi / 2], [1 - np.cos(c), np.ones_like(c), -np.cos(c)], 0.0
    )
    area = np.select(
        [c <= pi / 2, c <= pi, c <= 3 * pi / 2],
        [c - np.sin(c), c - 1, pi - 1 - np.sin(c)],
        pi,
    )
    # the first period begins at 1/2 and reaches 1 at pi/3
    early, middle = t <= pi / 3, (t > pi / 3) & (t <= pi)
    begun = pi / 2 - math.sin(pi / 3)  # area up to pi/3
    q = np.select([t < 0, early, middle], [np.full_like(t, 0.5), 1.5 - np.cos(t), 1.0], q)
    extra = begun + 2 * pi / 3 - (pi - 1)  # the first period has this much more
    area = turn * pi + area + extra
    area = np.select(
        [t < 0, early, middle], [0.5 * t, 1.5 * t - np.sin(t), begun + t - pi / 3], area
    )
    return q, area


def walls_exact(t):
    t = np.asarray(t, dtype=float)
    return np.stack([between_walls(t)[0], between_walls(t - 1)[1] + 0.5], axis=-1)


WALL_TIMES = (math.pi / 3, *(k * math.pi / 2 for k in range(2, 13)))
WALLS = System(
    "two walls, read late",
    "q' = sin t held between 0 and 1, z' = q(t-1)" + CHECKED,
    lambda t, y, history, args: stack(jnp.sin(t), history(t - 1.0)[0]),
    y0=(0.5, 0.0),
    t0=0.0,
    t1=18.0,
    initial_history=lambda s, args: stack(jnp.full(jnp.shape(s), 0.5), 0.5 * s),
    longest_lag=1.0,
    exact=walls_exact,
    bounds=((0, 0.0, 1.0),),
    breaks=tuple(sorted({0.0, 1.0, *WALL_TIMES, *(time + 1 for time in WALL_TIMES)})),
    notes="the kinks of q come back in z a lag later",
)


class Red(NamedTuple):
    """Parameters of problems C (Reno, gentle RED) and D (Reno and Vegas); packets, seconds."""

    capacity: float
    propagation: float
    min_thresh: float
    max_thresh: float
    max_prob: float
    averaging: float
    flows: float = 0.0
    alpha: float = 0.0
    beta: float = 0.0
    width: float = 0.0


def reno_red(t, y, history, args, above):
    """Return the time derivative of Misra, Gong and Towsley's window, queue and average queue."""
    rtt = args.propagation + y[1] / args.capacity
    old = history(t - rtt)
    span = args.max_thresh - args.min_thresh
    ramp = args.max_prob * (old[2] - args.min_thresh) / span
    gentle = args.max_prob + (1 - args.max_prob) * (old[2] - args.max_thresh) / args.max_thresh
    drop = jnp.where(above[0], jnp.where(above[1], jnp.where(above[2], 1.0, gentle), ramp), 0.0)
    losses = y[0] * old[0] / (2 * (args.propagation + old[1] / args.capacity)) * drop
    return stack(
        1 / rtt - losses, args.flows * y[0] / rtt - args.capacity, args.averaging * (y[1] - y[2])
    )


def reno_red_switches(t, y, history, args):
    average = history(t - args.propagation - y[1] / args.capacity)[2]
    return stack(
        *(average - args.min_thresh, average - args.max_thresh, average - 2 * args.max_thresh)
    )


RENO_RED = System(
    "Reno over RED",
    "Misra, Gong and Towsley, SIGCOMM 2000, as problem C of the notes",
    reno_red,
    y0=(1.0, 0.0, 0.0),
    t0=0.0,
    t1=100.0,
    initial_history=constant(1.0, 0.0, 0.0),
    longest_lag=0.4,
    args=Red(3750.0, 0.2, 150.0, 200.0, 0.1, -math.log(1 - 1.33e-4) * 3750, 60.0),
    reference="reno_red.npz",
    bounds=((1, 0.0, None),),
    guards=reno_red_switches,
    notes="the queue is empty for 49 % of the time",
)

RENOS = VEGASES = 25
QUEUE, AVERAGE = RENOS + VEGASES, RENOS + VEGASES + 1
QUEUE, AVERAGE = RENOS + VEGASES, RENOS + VEGASES + 1
STARTS = tuple(1 + 0.2 * i for i in range(25))
LINK = 155e6 / 8 / 1500  # packets/s


def reno_vegas(t, y, history, args, above):
    """Return the time derivative of problem D: windows, queue, average queue (packets).

    25 windows of Reno, then 25 of Vegas; RED is not gentle. Without slices and `concatenate`, XLA
    makes one loop of it.
    """
    place = np.arange(QUEUE + 2)
    queueing_delay = y[QUEUE] / args.capacity
    rtt = args.propagation + queueing_delay
    old = history(t - rtt)
    ramp = args.max_prob * (old[AVERAGE] - args.min_thresh) / (args.max_thresh - args.min_thresh)
    drop = jnp.where(above[0], jnp.where(above[1], args.max_prob, ramp), 0.0)
    losses = drop / (2 * (args.propagation + old[QUEUE] / args.capacity))
    queued = y * (queueing_delay / rtt)
    vegas = jax.nn.sigmoid((args.alpha - queued) / args.width) - jax.nn.sigmoid(
        (queued - args.beta) / args.width
    )
    growth = jnp.where(place < RENOS, 1.0, vegas) / rtt
    filling = jnp.sum(jnp.where(place < QUEUE, y, 0.0)) / rtt - args.capacity
    averaging = args.averaging * (y[QUEUE] - y[AVERAGE])
    queues = jnp.where(place == QUEUE, filling, averaging)
    return jnp.where(place < QUEUE, growth - y * old * losses, queues)


def reno_vegas_switches(t, y, history, args):
    average = history(t - args.propagation - y[QUEUE] / args.capacity)[AVERAGE]
    return stack(average - args.min_thresh, average - args.max_thresh)


RENO_VEGAS = System(
    "Reno and Vegas over RED",
    "problem D of the notes: network 2, every window on its own, unequal starts",
    reno_vegas,
    y0=(*STARTS, *STARTS, 0.0, 0.0),
    t0=0.0,
    t1=200.0,
    initial_history=constant(*STARTS, *STARTS, 0.0, 0.0),
    longest_lag=0.6,
    args=Red(
        LINK, 0.007, 6711.0, 26843.0, 1.0, -math.log(1 - 0.002) * LINK, 50.0, 100.0, 110.0, 0.5
    ),
    reference="reno_vegas.npz",
    bounds=((QUEUE, 0.0, None),),
    guards=reno_vegas_switches,
    notes="the lag runs from 7 ms to 0.53 s; RED drops from 51 s on; the clamp is never reached",
)

SYSTEMS = (
    DDETST_B2,
    DDETST_C1,
    DDETST_C2,
    DDETST_C3,
    DDETST_C4,
    FOLDED,
    STATE_KINK,
    RELAY,
    EMPTIED,
    WALLS,
    RENO_RED,
    RENO_VEGAS,
)
