"""``rocdoctor emit``: configuration for a launcher."""

from __future__ import annotations

import argparse
import sys

from rocdoctor.cli import UsageError, suggestion
from rocdoctor.collect import collect
from rocdoctor.commands.common import open_host
from rocdoctor.emit import env

TARGETS = {"env": env.render}


def run(options: argparse.Namespace) -> int:
    """Print each target's file."""
    for target in options.targets:
        if target not in TARGETS:
            near = suggestion(target, list(TARGETS))
            raise UsageError(f"no target '{target}'{near}; there are: {', '.join(TARGETS)}")
    machine = collect(open_host(options))
    for target in options.targets:
        sys.stdout.write(TARGETS[target](machine))
    return 0
