"""``rocdoctor explain``: the manual page of a check, read without importing it, or of a piece of advice."""

from __future__ import annotations

import argparse

from rocdoctor.host import output
from rocdoctor.service.manual_pages import page


def run(options: argparse.Namespace) -> int:
    """Print the page."""
    output.show(page(options.name))
    return 0
