"""`vegasfluid explore`: a local page in the browser, until Ctrl-C, or saved as a file."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

from vegasfluid import modelfile
from vegasfluid.cli.next_steps import show_written
from vegasfluid.cli.output import COMPILING, console, print_json, progress
from vegasfluid.cli.targets import check_target
from vegasfluid.output_files import write_text

__all__ = ["save", "serve"]


def serve(name: str, *, port: int, browser: bool, as_json: bool) -> None:
    """Serve the page for model `name` on 127.0.0.1 until Ctrl-C, and open it in the browser.

    Args:
        name: path of a model file, or name of a built-in model.
        port: port to listen on; 0: any free one.
        browser: whether to open the page.
        as_json: whether to print the address as a JSON document instead of text.

    Raises:
        ModelFileError: if the model is invalid.
        InvalidInput: if the fluid model does not support it, or the port cannot be used.
    """
    model = modelfile.read_model(name)
    from vegasfluid.caches import keep_compiled_equations
    from vegasfluid.explore import ExploreServer
    from vegasfluid.explore.session import Session
    from vegasfluid.fluid.model import build

    build(model.network)  # refuses what the page could not simulate
    keep_compiled_equations()
    server = ExploreServer(Session(model, name), port)
    if as_json:
        print_json({"model": name, "url": server.url, "port": server.server_port})
    else:
        console().print(f"Explore {name}: {server.url}", soft_wrap=True)
        console().print("Press Ctrl-C to stop.")
    if browser:
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    server.serve_forever()


def save(name: str, out: Path, *, as_json: bool, force: bool) -> None:
    """Write the page for model `name` with saved runs as one HTML file, which needs no server.

    Args:
        name: path of a model file, or name of a built-in model.
        out: the file.
        as_json: whether to print one JSON document instead of text.
        force: whether a file that vegasfluid has not written is replaced.

    Raises:
        ModelFileError: if the model is invalid.
        InvalidInput: if the fluid model does not support it, or the file cannot be written.
        SolveFailed: if a run fails.
    """
    check_target("explore", "--out", out, (".html",), model=name, force=force)
    model = modelfile.read_model(name)
    from vegasfluid.caches import keep_compiled_equations
    from vegasfluid.explore.recording import recording
    from vegasfluid.explore.single_file import page_with_runs

    keep_compiled_equations()
    with progress("explore", COMPILING) as report:
        write_text(out, page_with_runs(recording({Path(name).name: model}, report)))
    if as_json:
        print_json({"model": name, "page": str(out)})
    else:
        show_written(out)
