"""``rocdoctor list``: all checks, one line each, read without importing them."""

from __future__ import annotations

import argparse

from rocdoctor.host import output
from rocdoctor.judging.loading import check_files, checks_folder, manual_of, name_of


def run(options: argparse.Namespace) -> int:
    """Print names and titles."""
    rows = [(name_of(path), manual_of(path).strip().split("\n", 1)[0]) for path in check_files(checks_folder())]
    wide = max((len(name) for name, _ in rows), default=0)
    output.show("".join(f"{name:<{wide}}  {title}\n" for name, title in rows))
    return 0
