"""The terminal screens: a thin skin over the headless core."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from rocdoctor.host.live.trust import privileged

# What Textual takes from the environment when it is imported and that only looks (textual/constants.py of
# Textualize/textual, read 2026-11-29). Others name a file to write, a module to load or keys to press.
_LOOKS = frozenset(("TEXTUAL_ANIMATIONS", "TEXTUAL_COLOR_SYSTEM", "TEXTUAL_DISABLE_KITTY_KEY", "TEXTUAL_FPS"))


def drop_orders(environment: MutableMapping[str, str]) -> None:
    """Take away what would have Textual do something: su leaves root the environment of another user."""
    for name in [one for one in environment if one.startswith("TEXTUAL_") and one not in _LOOKS]:
        del environment[name]


if privileged():
    drop_orders(os.environ)  # this package is imported before any module that imports Textual
