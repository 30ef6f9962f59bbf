"""Columns of samples, which readers fill row by row."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["SampleColumns"]


class SampleColumns:
    """Samples of a flow or queue while a file is read; 8 bytes for each value.

    >>> columns = SampleColumns()
    >>> columns.add(0.0, {"rtt_s": 0.04})
    >>> columns.add(1.0, {"window_packets": 10.0})
    >>> columns.arrays()["window_packets"]
    array([nan, 10.])
    """

    def __init__(self) -> None:
        self.time = array("d")
        self.columns: dict[str, array[float]] = {}

    def add(self, time: float, values: Mapping[str, float]) -> None:
        """Append a sample.

        Args:
            time: its time, s.
            values: values by the name of the field; one that is not given is NaN.
        """
        for name in values.keys() - self.columns.keys():
            self.columns[name] = array("d", [np.nan]) * len(self.time)
        self.time.append(time)
        for name, column in self.columns.items():
            column.append(values.get(name, np.nan))

    def arrays(self, start: float = 0.0) -> dict[str, Any]:
        """The series by the name of the field, with `time_s`; those that are all NaN are left out.

        Args:
            start: time that becomes 0, s.
        """
        series = {name: np.array(column) for name, column in self.columns.items()}
        known = {name: each for name, each in series.items() if not np.isnan(each).all()}
        return {"time_s": np.array(self.time) - start, **known}
