"""`vegasfluid doctor`: check the installation and show how to repair it."""

from vegasfluid.cli.doctor.report import run

__all__ = ["run"]
