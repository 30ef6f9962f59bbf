"""Model files: TOML that describes one network and its flows.

A key is the name of a field with its unit, `base_rtt_ms` for the field `base_rtt: Delay`. Keys are
derived from the value classes, so a new congestion control or traffic source needs no change here.
Reading never runs code from the file, and invalid input is reported in one line. `read_model` also
takes the name of a built-in model; `bundled_models` lists them.

Sources:
    TOML 1.0.0, https://toml.io/en/v1.0.0.
"""

from vegasfluid.bundled import bundled_models
from vegasfluid.modelfile.errors import ModelFileError
from vegasfluid.modelfile.reader import load, loads, read_model
from vegasfluid.modelfile.writer import dumps

__all__ = ["ModelFileError", "bundled_models", "dumps", "load", "loads", "read_model"]
