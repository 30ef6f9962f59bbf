"""`vegasfluid explore`: a local page in the browser, until Ctrl-C."""

from __future__ import annotations

import threading
import webbrowser

from vegasfluid import modelfile
from vegasfluid.cli.output import console, print_json

__all__ = ["run"]


def run(name: str, *, port: int, browser: bool, as_json: bool) -> None:
    """Serve the page for model `name` on 127.0.0.1, and open it in the browser.

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
