"""Convert the results of a sweep to a pandas table, CSV or netCDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vegasfluid.errors import InvalidInput
from vegasfluid.output_files import write_bytes, write_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["ENDINGS", "save", "table_of"]

ENDINGS = (".nc", ".csv")
"""File name endings that `save` accepts."""


def table_of(data: xr.Dataset) -> pd.DataFrame:
    """Results of a sweep as a table: one row per run, one column per metric.

    The index has the dimensions. A metric of flow classes or links has a column for each of them,
    such as `goodput_mbps.vegas`.

    Args:
        data: the results, from `open_sweep`.

    Returns:
        The table; the names of columns end in the unit.
    """
    import xarray as xr

    columns = {}
    for name, values in data.data_vars.items():
        inner = next((dim for dim in ("flow_class", "link") if dim in values.dims), None)
        if inner is None:
            columns[str(name)] = values
            continue
        for index, label in enumerate(data[inner].values):
            columns[f"{name}.{label}"] = values.isel({inner: index}, drop=True)
    return xr.Dataset(columns).drop_vars(["flow_class", "link"], errors="ignore").to_dataframe()


def save(data: xr.Dataset, target: str | Path) -> None:
    """Write the results of a sweep to a file as netCDF (`.nc`) or as a table (`.csv`).

    Args:
        data: the results, from `open_sweep`.
        target: path of the file; its ending selects the format.

    Raises:
        InvalidInput: for any other ending.
    """
    path = Path(target)
    if path.suffix == ".nc":
        loaded = data.load()
        texts = [name for name, array in loaded.variables.items() if array.dtype.kind == "T"]
        plain = {name: loaded[name].astype(object) for name in texts}
        write_bytes(path, loaded.assign(plain).to_netcdf(engine="h5netcdf"))
    elif path.suffix == ".csv":
        write_text(path, table_of(data.load()).to_csv())
    else:
        raise InvalidInput("sweep", "--to", "named *" + ", *".join(ENDINGS), str(path))
