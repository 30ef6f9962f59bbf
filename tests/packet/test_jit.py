"""What happens with a Numba whose internals have changed."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from tests.packet.end_state import execute
from vegasfluid import Flows, Link, Network, Red, Reno, Vegas
from vegasfluid.packet.initial_state import initial_state
from vegasfluid.packet.jit import compiled, kernel, self_test
from vegasfluid.packet.jit.deferred_codegen import without_timers

NETWORK = Network(
    Link(1000.0, 30, Red(5, 20, max_drop=0.1)),
    {"reno": Flows(2, Reno(), base_rtt=0.04), "vegas": Flows(2, Vegas(), base_rtt=0.05)},
)


def test_the_self_test_passes_with_the_locked_numba() -> None:
    assert self_test.passes()
    assert self_test.internals_work()


def test_a_self_test_that_raises_fails(monkeypatch, tmp_path) -> None:
    def is_changed() -> bool:
        raise AttributeError("no such internal")

    monkeypatch.setenv("VEGASFLUID_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(self_test, "passes", is_changed)
    assert not self_test.internals_work.__wrapped__()
    monkeypatch.setattr(self_test, "passes", lambda: True)
    assert self_test.internals_work.__wrapped__()
    monkeypatch.setattr(self_test, "passes", is_changed)  # passed once for these versions
    assert self_test.internals_work.__wrapped__()


@pytest.mark.slow
def test_the_fallback_warns_once_and_gives_the_same_results(monkeypatch) -> None:
    times = np.linspace(0.0, 5.0, 11)
    start = initial_state(NETWORK, 1)
    fast = execute(NETWORK, start, times, compiled(start.rules))
    monkeypatch.setattr(self_test, "internals_work", lambda: False)
    kernel.warn_of_fallback.cache_clear()
    with pytest.warns(RuntimeWarning, match="fails the self-test of the packet") as warned:
        plain = kernel.compile_kernel(start.rules)
    kernel.warn_of_fallback()  # an error in tests, were it to warn again
    assert len(warned) == 1
    slow = execute(NETWORK, start, times, plain)
    for name, array in fast._asdict().items():
        np.testing.assert_array_equal(array, getattr(slow, name), err_msg=name)


def test_numba_times_its_locks_again_after_a_kernel():
    """Also where compiling fails: other code of the process may read Numba's times."""
    with pytest.raises(TypingError), without_timers():
        njit(lambda: undefined_name).compile(())  # type: ignore[name-defined]
    timed = njit(lambda: 1)
    timed.compile(())
    assert set(timed.get_metadata(())["timers"]) == {"compiler_lock", "llvm_lock"}
    untimed = njit(lambda: 2)
    with without_timers():
        untimed.compile(())
    assert not untimed.get_metadata(()).get("timers")
