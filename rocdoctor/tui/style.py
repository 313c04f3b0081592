"""Colours that mean something. Each stands beside a word that says the same, so nothing is lost without them."""

from __future__ import annotations

import os

_AMBER = 0.9  # of a limit
SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}
STATE_STYLE = {
    "pass": "green",
    "fail": "bold red",
    "unknown": "magenta",
    "not-applicable": "dim",
    "crashed": "bold red",
    "done": "green",
    "todo": "bold yellow",
    "waiting": "dim",
    "impossible": "bold red",
}
if os.environ.get("NO_COLOR"):  # colours would become greys, and red one that is as dark as the screen
    SEVERITY_STYLE = {name: "bold" if "bold" in style else "" for name, style in SEVERITY_STYLE.items()}
    STATE_STYLE = {name: "bold" if "bold" in style else "" for name, style in STATE_STYLE.items()}


def near_limit(value: float | None, limit: float | None) -> str:
    """The style of a value beside its limit: yellow from nine tenths of it on, red at it."""
    if value is None:
        return STATE_STYLE["unknown"]
    if not limit or value < _AMBER * limit:
        return ""
    return SEVERITY_STYLE["error" if value >= limit else "warning"]
