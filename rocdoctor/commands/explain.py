"""``rocdoctor explain``: the manual page of a check, read without importing it."""

from __future__ import annotations

import argparse
import sys

from rocdoctor.check import check_files, checks_folder, manual_of, name_of
from rocdoctor.cli import UsageError, suggestion


def run(options: argparse.Namespace) -> int:
    """Print the check's docstring."""
    wanted = options.name.replace("_", "-")
    paths = {name_of(path): path for path in check_files(checks_folder())}
    if wanted not in paths:
        raise UsageError(f"no check '{options.name}'{suggestion(wanted, list(paths))}; see rocdoctor list")
    sys.stdout.write(f"{wanted}\n\n{manual_of(paths[wanted])}\n")
    return 0
