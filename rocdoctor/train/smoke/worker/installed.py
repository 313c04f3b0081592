"""Versions of distributions by their metadata, nothing imported, as one JSON object on standard output."""

from __future__ import annotations

import importlib.metadata
import json


def main(names: list[str]) -> int:
    """Print the installed ones of the names that are given."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    print(json.dumps(found))
    return 0
