"""Who answers which questions about this machine: the host, and rooms above it that bring verbs of their own.

``main`` is the process that asks this machine for the screens (``host.supervised.server``); smoke tests are imported
when they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from rocdoctor.host.base import Answer
from rocdoctor.host.live.live_host import LiveHost, Verb


def _smoke(host: LiveHost, question: str) -> Answer:
    from rocdoctor.train.smoke.run.answer import run_smoke

    return run_smoke(host, question)


def _serve_smoke(settings: dict[str, Any], source: int, sink: int) -> int:
    from rocdoctor.train.smoke.run.smoke_server import serve_smoke

    return serve_smoke(settings, source, sink)


VERBS: Mapping[str, Verb] = {"smoke": _smoke}


def main() -> NoReturn:
    """Serve questions until the screens are gone."""
    from rocdoctor.host.supervised.server import main as serve

    serve(_serve_smoke)
