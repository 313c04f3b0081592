"""Colours that mean something. Each stands beside a word that says the same, so nothing is lost without them."""

from __future__ import annotations

SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}
STATE_STYLE = {
    "pass": "green", "fail": "bold red", "unknown": "magenta", "not-applicable": "dim", "crashed": "bold red",
    "done": "green", "todo": "bold yellow", "waiting": "dim", "impossible": "bold red",
}  # fmt: skip
