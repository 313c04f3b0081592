"""Entry in the interpreter under test: ``python FOLDER server`` loads this folder as a package and serves one pool."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

PACKAGE = "rocdoctor_smoke"


def load(folder: str) -> None:
    """Make the folder importable as a package, and keep its files from shadowing anybody's modules."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise SystemExit("cannot load " + folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    load(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(importlib.import_module(f"{PACKAGE}.{sys.argv[1]}").main(sys.argv[2:]))
