"""``rocdoctor read``: diagnose pasted text."""

from __future__ import annotations

import argparse

from rocdoctor.commands import check


def run(options: argparse.Namespace) -> int:
    """The same as ``check --from``, with the text named directly."""
    options.source = options.file
    return check.run(options)
