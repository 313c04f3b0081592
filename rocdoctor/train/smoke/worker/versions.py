"""Versions of Python and torch without importing torch, as one JSON object on standard output."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys

_CONSTANT = re.compile(r"^(__version__|hip|cuda)\b[^=\n]{0,80}=\s*['\"]([^'\"\n]{1,80})['\"]", re.MULTILINE)


def main(_: list[str]) -> int:
    """Print what torch/version.py assigns; a value that is None or missing is null."""
    found = {"python": sys.version.split()[0], "torch": None, "hip": None, "cuda": None}
    try:
        spec = importlib.util.find_spec("torch")
        for folder in (spec and spec.submodule_search_locations) or ():
            with open(os.path.join(folder, "version.py"), encoding="utf-8", errors="replace") as stream:
                told = dict(_CONSTANT.findall(stream.read(20_000)))
            found.update(torch=told.get("__version__"), hip=told.get("hip"), cuda=told.get("cuda"))
            break
    except Exception as error:  # finders are the user's code
        print(type(error).__name__, error, file=sys.stderr)
    print(json.dumps(found))
    return 0
