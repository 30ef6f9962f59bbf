"""What counts as a law, a queue or a kind of traffic: what stands in the package, nothing else."""

from dataclasses import dataclass
from typing import ClassVar

from vegasfluid import traffic
from vegasfluid.discovery import named_subclasses
from vegasfluid.traffic.base import TrafficSource


@dataclass(frozen=True)
class Elsewhere(TrafficSource):
    """A kind that a caller wrote for a run from Python: no model file can name it."""

    name: ClassVar[str] = "elsewhere"


def test_modules_outside_the_package_are_ignored() -> None:
    found = named_subclasses(traffic.__name__, traffic.__path__, TrafficSource)
    assert Elsewhere in TrafficSource.__subclasses__()
    assert "elsewhere" not in found
    assert found["cbr"].name == "cbr"
