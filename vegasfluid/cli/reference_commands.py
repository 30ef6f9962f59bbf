"""Commands for reference and setup; the code of each loads on use."""

from __future__ import annotations

from typing import Annotated

import typer

from vegasfluid.cli import options as opts
from vegasfluid.cli.application import REFERENCE, command
from vegasfluid.cli.exit_status import DONE, OUT_OF_REACH

__all__ = ["doctor", "init", "laws", "models", "notebooks"]


@command("models", REFERENCE)
def models(
    name: opts.BundledName = None,
    out: opts.ModelCopy = None,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
) -> None:
    """List the built-in models, show one, or copy one as a start for your own."""
    from vegasfluid.cli.models import run

    run(name, out=out, as_json=as_json)


@command("init", REFERENCE)
def init(
    out: opts.NewModel = None,
    as_json: opts.AsJson = False,
    quiet: opts.Quiet = False,
    force: opts.Force = False,
) -> None:
    """Ask six questions about your network and write a model file."""
    from vegasfluid.cli.init import run

    run(out, as_json=as_json, force=force)


@command("notebooks", REFERENCE)
def notebooks(
    out: Annotated[opts.Target, opts.written("Copy the notebooks into a folder.")] = None,
    as_json: opts.AsJson = False,
    force: opts.Force = False,
) -> None:
    """List the Jupyter notebooks, or copy them into a folder to run and change them."""
    from vegasfluid.cli.notebooks import run

    run(out, as_json=as_json, force=force)


@command("laws", REFERENCE)
def laws(as_json: opts.AsJson = False) -> None:
    """List congestion controls, queue disciplines and traffic sources with their parameters."""
    from vegasfluid.cli.laws import run

    run(as_json=as_json)


@command("doctor", REFERENCE)
def doctor(clear_caches: opts.ClearCaches = False, as_json: opts.AsJson = False) -> None:
    """Check the installation: versions, devices, caches, and a short run of each engine."""
    from vegasfluid.cli.doctor import run

    raise typer.Exit(DONE if run(clear=clear_caches, as_json=as_json) else OUT_OF_REACH)
