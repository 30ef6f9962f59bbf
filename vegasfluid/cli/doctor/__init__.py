"""`vegasfluid doctor`: whether all is well here, and what to do where it is not."""

from vegasfluid.cli.doctor.report import run

__all__ = ["run"]
