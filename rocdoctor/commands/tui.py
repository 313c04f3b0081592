"""``rocdoctor`` on a terminal: the screens."""

from __future__ import annotations

import argparse

from rocdoctor.commands.common import open_host


def run(options: argparse.Namespace) -> int:
    """Open the app on the host that the options name."""
    from rocdoctor.tui.app import RocdoctorApp

    RocdoctorApp(open_host(options)).run()
    return 0
