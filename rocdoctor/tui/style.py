"""Colours that mean something. Each stands beside a word that says the same, so nothing is lost without them.

No other module of the screens names a colour: NO_COLOR, light themes and terminals of 16 colours are settled here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.terminal_theme import TerminalTheme

if TYPE_CHECKING:
    from rocdoctor.insight.gpus.gpu_health import TemperatureReading

# Colours would become greys, and red one that is as dark as the screen; "dim" grey on grey.
_PLAIN = bool(os.environ.get("NO_COLOR"))

WRONG = "bold" if _PLAIN else "bold red"
RISK = "" if _PLAIN else "yellow"
GOOD = "" if _PLAIN else "green"
NOTE = "" if _PLAIN else "cyan"
UNKNOWN = "italic" if _PLAIN else "dim"

SEVERITY_STYLE = {"error": WRONG, "warning": RISK, "info": NOTE}
STATE_STYLE = {
    "pass": GOOD,
    "fail": WRONG,
    "unknown": UNKNOWN,
    "not-applicable": UNKNOWN,
    "crashed": WRONG,
    "done": GOOD,
    "todo": "bold" if _PLAIN else "bold yellow",
    "waiting": UNKNOWN,
    "impossible": WRONG,
}

# What the names of colours mean, (red, green, blue): each is read on every background of the themes, also on that of a
# selected row, and of 16 colours it becomes the one of its name.
Colour = tuple[int, int, int]
ON_DARK: dict[str, Colour] = {
    "red": (255, 123, 114),
    "yellow": (227, 179, 65),
    "green": (86, 211, 100),
    "cyan": (86, 212, 221),
}
ON_LIGHT: dict[str, Colour] = {"red": (139, 0, 0), "yellow": (85, 60, 0), "green": (0, 75, 0), "cyan": (0, 71, 79)}
INSTEAD = {"accent": "cyan", "warning": "yellow", "footer-key-foreground": "cyan"}
"""Colours of Textual's themes that are too near to red for a terminal of 16 colours, and what they are there."""
_ORDER = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def ansi_colours(named: dict[str, Colour], kept: tuple[Colour, ...]) -> list[Colour]:
    """The eight colours of a terminal; ``kept``: those of another theme, for the names that mean nothing here."""
    return [named.get(name, kept[at]) for at, name in enumerate(_ORDER)]


def named_colours(theme: TerminalTheme, named: dict[str, Colour]) -> TerminalTheme:
    """A theme in which names of colours mean ours."""
    ansi = [(one.red, one.green, one.blue) for one in (theme.ansi_colors[at] for at in range(16))]
    normal = ansi_colours(named, tuple(ansi[:8]))
    back, fore = theme.background_color, theme.foreground_color
    ends = (back.red, back.green, back.blue), (fore.red, fore.green, fore.blue)
    return TerminalTheme(*ends, normal, ansi[8:])


def heat_style(heat: TemperatureReading | None) -> str:
    """The style of a temperature: yellow near its critical limit, red at it.

    Heat alone has such a style: a GPU that draws the power it may, or is full, is at work and not ill.
    """
    if heat is None:
        return UNKNOWN
    if heat.margin_c is None or not heat.near_critical:
        return ""
    return WRONG if heat.margin_c <= 0 else RISK
