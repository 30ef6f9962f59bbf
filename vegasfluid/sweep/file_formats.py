"""From the store of a sweep to other forms: a table of pandas, CSV, netCDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vegasfluid.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["ENDINGS", "save", "table_of"]

ENDINGS = (".nc", ".csv")


def table_of(data: xr.Dataset) -> pd.DataFrame:
    """A row for each run, a column for each dimension and number.

    What a class of flows or a link has is a column of its own, such as `goodput_mbps.vegas`.

    Args:
        data: the results of a sweep.
    """
    import xarray as xr

    columns = {}
    for name, of in data.data_vars.items():
        inner = next((dim for dim in ("flow_class", "link") if dim in of.dims), None)
        if inner is None:
            columns[str(name)] = of
            continue
        for place, label in enumerate(data[inner].values):
            columns[f"{name}.{label}"] = of.isel({inner: place}, drop=True)
    return xr.Dataset(columns).drop_vars(["flow_class", "link"], errors="ignore").to_dataframe()


def save(data: xr.Dataset, target: str | Path) -> None:
    """Write results as netCDF (`.nc`) or as a table (`.csv`).

    Args:
        data: the results of a sweep.
        target: the file; its ending says the form.

    Raises:
        InvalidInput: for another ending.
    """
    path = Path(target)
    if path.suffix == ".nc":
        loaded = data.load()
        texts = [name for name, of in loaded.variables.items() if of.dtype.kind == "T"]
        plain = {name: loaded[name].astype(object) for name in texts}
        loaded.assign(plain).to_netcdf(path, engine="h5netcdf")
    elif path.suffix == ".csv":
        table_of(data.load()).to_csv(path)
    else:
        raise InvalidInput("sweep", "--to", "named *" + ", *".join(ENDINGS), str(path))
